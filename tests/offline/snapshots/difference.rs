//! The shortest difference of two texts by lines (Myers).

/// Lines taken away (`-`) and added (`+`) at one place.
pub type Hunk<'a> = Vec<(char, &'a str)>;

pub fn difference<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Hunk<'a>> {
    let first = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    let mut is_apart = true;
    for (sign, line) in edits(before, after) {
        if sign == ' ' {
            is_apart = true;
        } else if is_apart {
            hunks.push(vec![(sign, line)]);
            is_apart = false;
        } else {
            hunks.last_mut().unwrap().push((sign, line));
        }
    }
    hunks
}

/// All lines, each with a sign; one that both have with a space.
fn edits<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(char, &'a str)> {
    let most = before.len() + after.len();
    let place = |diagonal: isize| usize::try_from(diagonal + isize::try_from(most).unwrap()).unwrap();
    // The furthest line of `before` on each diagonal, after so many edits.
    let mut furthest = vec![0_usize; 2 * most + 2];
    let mut rounds = Vec::new();
    for round in 0..=isize::try_from(most).unwrap() {
        rounds.push(furthest.clone());
        let mut diagonal = -round;
        while diagonal <= round {
            let down = diagonal == -round
                || diagonal != round && furthest[place(diagonal - 1)] < furthest[place(diagonal + 1)];
            let mut x = if down { furthest[place(diagonal + 1)] } else { furthest[place(diagonal - 1)] + 1 };
            let mut y = usize::try_from(isize::try_from(x).unwrap() - diagonal).unwrap_or(0);
            while x < before.len() && y < after.len() && before[x] == after[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[place(diagonal)] = x;
            if x >= before.len() && y >= after.len() {
                return back(before, after, &rounds, place);
            }
            diagonal += 2;
        }
    }
    Vec::new()
}

/// From the end, the edits of each round.
fn back<'a>(
    before: &[&'a str],
    after: &[&'a str],
    rounds: &[Vec<usize>],
    place: impl Fn(isize) -> usize,
) -> Vec<(char, &'a str)> {
    let mut out = Vec::new();
    let (mut x, mut y) = (before.len(), after.len());
    for (round, furthest) in rounds.iter().enumerate().rev() {
        let round = isize::try_from(round).unwrap();
        let diagonal = isize::try_from(x).unwrap() - isize::try_from(y).unwrap();
        let down =
            diagonal == -round || diagonal != round && furthest[place(diagonal - 1)] < furthest[place(diagonal + 1)];
        let from = if down { diagonal + 1 } else { diagonal - 1 };
        let (from_x, from_y) = if round == 0 {
            (0, 0)
        } else {
            let x = furthest[place(from)];
            (x, usize::try_from(isize::try_from(x).unwrap() - from).unwrap())
        };
        let (to_x, to_y) = if round == 0 {
            (0, 0)
        } else if down {
            (from_x, from_y + 1)
        } else {
            (from_x + 1, from_y)
        };
        while x > to_x && y > to_y {
            (x, y) = (x - 1, y - 1);
            out.push((' ', before[x]));
        }
        if round > 0 {
            out.push(if down { ('+', after[from_y]) } else { ('-', before[from_x]) });
        }
        (x, y) = (from_x, from_y);
    }
    out.reverse();
    out
}

/// The length of the longest text of lines that both have in this order.
fn common(before: &[&str], after: &[&str]) -> usize {
    let mut lengths = vec![0; after.len() + 1];
    for line in before {
        let mut beside = 0;
        for at in 0..after.len() {
            let above = lengths[at + 1];
            lengths[at + 1] = if *line == after[at] { beside + 1 } else { above.max(lengths[at]) };
            beside = above;
        }
    }
    lengths[after.len()]
}

#[test]
fn the_shortest_difference_makes_one_text_of_the_other() {
    let mut dice = support::dice::Dice::new(7);
    for _ in 0..300 {
        let mut text = || {
            let lines = dice.below(12);
            (0..lines).map(|_| ["a", "b", "c"][usize::try_from(dice.below(3)).unwrap()]).collect::<Vec<_>>()
        };
        let (before, after) = (text(), text());
        let edits = edits(&before, &after);
        let side =
            |gone: char| edits.iter().filter(|(sign, _)| *sign != gone).map(|(_, line)| *line).collect::<Vec<_>>();
        assert_eq!((side('+'), side('-')), (before.clone(), after.clone()));
        let changed: usize = difference(&before, &after).iter().map(Vec::len).sum();
        assert_eq!(changed, before.len() + after.len() - 2 * common(&before, &after), "{before:?} {after:?}");
    }
}
