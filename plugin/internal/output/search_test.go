package output

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"bashplugin/shared"
)

// logSearch is a search of a random log.
type logSearch struct {
	text     string
	size     int // of the log: text is longer if the log has stopped
	from, to int
	reach    int
	most     int
}

// want is what the search should find, by a way that is slow and easy to read.
func (s logSearch) want() []shared.Line {
	parts := [][2]int{{s.from, s.from + s.reach}, {s.to - s.reach, s.to}}
	switch {
	case s.to-s.from <= 2*s.reach:
		parts = [][2]int{{s.from, s.to}}
	case s.size < s.to:
		parts = parts[:1]
	}
	var found []shared.Line
	start := 0
	for i, line := range strings.Split(s.text[:s.size], "\n") {
		for _, part := range parts {
			from, to := max(part[0], start), min(part[1], start+len(line))
			if from < to && isNotable(s.text[from:to], from == start) {
				found = append(found, shared.Line{Number: int64(i + 1), Text: line[:min(len(line), foundBytes)]})
				break
			}
		}
		start += len(line) + 1
	}
	if len(found) > s.most {
		found = slices.Delete(found, (s.most+1)/2, len(found)-s.most/2)
	}
	return found
}

func randomSearch(dice *rand.Rand) logSearch {
	var text strings.Builder
	for range 1 + dice.IntN(60) {
		length := []int{0, 3, 20, 20, 20, 60, 60, 1500}[dice.IntN(8)]
		for ; length > 0; length -= 10 {
			word := "some words "
			if dice.IntN(6) == 0 {
				word = looksLikeErrors[dice.IntN(len(looksLikeErrors))]
			}
			text.WriteString(word[:min(length, len(word))])
		}
		text.WriteString("\n")
	}
	s := logSearch{text: text.String(), reach: 1 + dice.IntN(3000), most: 1 + dice.IntN(12)}
	s.size = len(s.text)
	s.from = dice.IntN(s.size)
	s.to = s.from + dice.IntN(s.size-s.from+1)
	if dice.IntN(5) == 0 {
		s.size = dice.IntN(s.size)
	}
	return s
}

// Each line is found once, by its beginning and with its number, however long it is and
// wherever the search begins and ends.
func TestSearchFindsEachLineOnce(t *testing.T) {
	t.Parallel()
	seed := newSeed(t)
	dice := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "log")
	for range 500 {
		s := randomSearch(dice)
		require.NoError(t, os.WriteFile(path, []byte(s.text[:s.size]), 0o600))
		number := func(at int) int64 { return 1 + int64(strings.Count(s.text[:at], "\n")) }
		file, err := os.Open(path)
		require.NoError(t, err)
		search := search{log: &logReader{file: file}, step: int64(1 + dice.IntN(300)), reach: int64(s.reach), most: s.most}
		search.ends(int64(s.from), int64(s.to), number(s.from), number(s.to))
		require.Equal(t, s.want(), search.lines(), "%+v", s)
		file.Close()
	}
}
