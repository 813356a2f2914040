package session

import (
	"slices"
	"sort"
)

// numbers is a set of numbers that comes to hold nearly all numbers below some bound. It keeps
// spans of numbers, so its size grows with the gaps only. The zero value is empty.
type numbers []span

type span struct{ from, to uint64 } // without to

// below returns all numbers below next, except those in but.
func below(next uint64, but []uint64) numbers {
	var set numbers
	from := uint64(0)
	for _, n := range slices.Sorted(slices.Values(but)) {
		if n >= next {
			break
		}
		if n > from {
			set = append(set, span{from, n})
		}
		from = max(from, n+1)
	}
	if from < next {
		set = append(set, span{from, next})
	}
	return set
}

func (s numbers) has(n uint64) bool {
	i := s.search(n)
	return i < len(s) && s[i].from <= n && n < s[i].to
}

// search returns the index of the first span that ends at n or later.
func (s numbers) search(n uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].to >= n })
}

func (s *numbers) add(n uint64) {
	all := *s
	i := all.search(n)
	switch {
	case i == len(all) || n+1 < all[i].from:
		*s = slices.Insert(all, i, span{n, n + 1})
		return
	case n+1 == all[i].from:
		all[i].from = n
	case n == all[i].to:
		all[i].to = n + 1
	}
	if i+1 < len(all) && all[i+1].from == all[i].to {
		all[i].to = all[i+1].to
		*s = slices.Delete(all, i+1, i+2)
	}
}

// union adds another set.
func (s *numbers) union(other numbers) {
	all := slices.Concat(*s, other)
	slices.SortFunc(all, func(a, b span) int { return int(int64(a.from - b.from)) })
	merged := all[:0]
	for _, next := range all {
		last := len(merged) - 1
		if last >= 0 && next.from <= merged[last].to {
			merged[last].to = max(merged[last].to, next.to)
		} else {
			merged = append(merged, next)
		}
	}
	*s = merged
}
