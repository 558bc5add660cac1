package readpast

import "sort"

// Options are the settings that a queue is opened with, by their names: "connection", which is required, "schema",
// "lease.ms" and so on. The library knows which there are, what they take and what they default to; its README lists
// them.
type Options map[string]string

// pairs are the settings in a fixed order, so that of several mistakes the same one is always named.
func (o Options) pairs() [][2]string {
	pairs := make([][2]string, 0, len(o))
	for key, value := range o {
		pairs = append(pairs, [2]string{key, value})
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i][0] < pairs[j][0] })
	return pairs
}
