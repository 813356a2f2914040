package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/charmbracelet/x/ansi"

	"bashplugin/plugin/internal/bench/input"
	"bashplugin/plugin/internal/sanitize"
)

// throughSanitizer returns a function that runs raw through a Sanitizer, in chunks
// like those from a pipe.
func throughSanitizer(raw []byte) func() error {
	z := sanitize.New(io.Discard)
	return func() error {
		for chunk := range slices.Chunk(raw, 64<<10) {
			if _, err := z.Write(chunk); err != nil {
				return err
			}
		}
		return nil
	}
}

func againstCopy(b *bench) (string, bool, error) {
	raw := input.BuildLog(64 << 20) // larger than the caches
	dst := make([]byte, len(raw))
	m, err := alternate(b.rounds(50), throughSanitizer(raw), func() error { copy(dst, raw); return nil })
	if err != nil {
		return "", false, err
	}
	ratio := float64(m[1]) / float64(m[0])
	rate := float64(len(raw)) / 1e9 / m[0].Seconds()
	return fmt.Sprintf("%.2f × (%.1f GB/s)", ratio, rate), ratio >= 0.25, nil
}

// againstStrip compares with ansi.Strip, which only removes escape sequences, and
// gets the whole text at once.
func againstStrip(generate func(int) []byte) func(*bench) (string, bool, error) {
	return func(b *bench) (string, bool, error) {
		raw := generate(4 << 20)
		text := string(raw)
		m, err := alternate(b.rounds(50), throughSanitizer(raw), func() error { ansi.Strip(text); return nil })
		if err != nil {
			return "", false, err
		}
		ratio := float64(m[1]) / float64(m[0])
		rate := float64(len(raw)) / 1e6 / m[0].Seconds()
		return fmt.Sprintf("%.1f × (%.0f MB/s)", ratio, rate), ratio >= 3, nil
	}
}
