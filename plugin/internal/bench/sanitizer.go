package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/charmbracelet/x/ansi"

	"bashplugin/plugin/internal/bench/input"
	"bashplugin/plugin/internal/sanitize"
)

func sanitizerRows() []row {
	return []row{
		{"sanitizer alone, plain text", "memory copy", "≥ 0.25 ×", againstCopy},
		{"the same", "ansi.Strip", "≥ 3 ×", againstStrip(input.BuildLog)},
		{"sanitizer alone, coloured build", "ansi.Strip", "≥ 3 ×", againstStrip(input.ColouredBuild)},
		{"sanitizer alone, CR progress bar", "ansi.Strip", "≥ 3 ×", againstStrip(input.ProgressBar)},
		{"sanitizer alone, bar of blocks", "ansi.Strip", "≥ 3 ×", againstStrip(input.BlockBar)},
		{"sanitizer alone, CJK text", "ansi.Strip", "≥ 3 ×", againstStrip(input.CJK)},
	}
}

// throughSanitizer runs raw through a Sanitizer, in chunks like those from a pipe.
func throughSanitizer(raw []byte) subject {
	sanitizer := sanitize.New(io.Discard)
	return subject{run: func() error {
		for chunk := range slices.Chunk(raw, 64<<10) {
			_, err := sanitizer.Write(chunk)
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

func againstCopy(b *bench) (outcome, error) {
	raw := input.BuildLog(64 << 20) // larger than the caches
	target := make([]byte, len(raw))
	plainCopy := subject{run: func() error {
		copy(target, raw)
		return nil
	}}
	times, err := compare(b.rounds(50), throughSanitizer(raw), plainCopy)
	if err != nil {
		return outcome{}, err
	}
	rate := float64(len(raw)) / 1e9 / times.plugin.Seconds()
	text := fmt.Sprintf("%.2f × (%.1f GB/s)", times.speed(), rate)
	return outcome{measured: text, met: times.speed() >= 0.25}, nil
}

// againstStrip compares with ansi.Strip, which only removes escape sequences, and
// gets the whole text at once.
func againstStrip(generate func(int) []byte) func(*bench) (outcome, error) {
	return func(b *bench) (outcome, error) {
		raw := generate(4 << 20)
		text := string(raw)
		strip := subject{run: func() error {
			ansi.Strip(text)
			return nil
		}}
		times, err := compare(b.rounds(50), throughSanitizer(raw), strip)
		if err != nil {
			return outcome{}, err
		}
		rate := float64(len(raw)) / 1e6 / times.plugin.Seconds()
		measured := fmt.Sprintf("%.1f × (%.0f MB/s)", times.speed(), rate)
		return outcome{measured: measured, met: times.speed() >= 3}, nil
	}
}
