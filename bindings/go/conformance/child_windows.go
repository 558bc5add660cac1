package main

import "context"

// Windows has no fork, and the driver does not ask for one there.
func claimInChild(context.Context, *request) (answer, error) {
	return answer{"status": "UNSUPPORTED"}, nil
}
