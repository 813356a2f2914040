// Package input makes input for benchmarks of the output pipeline: seeded, of any
// size, and similar to real output of commands.
package input

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// BuildLog is a build's output without colours.
func BuildLog(size int) []byte {
	return fill(size, func(b []byte, r *rand.Rand) []byte {
		b = compiling(b, r)
		if r.IntN(9) == 0 {
			b = fmt.Appendf(b, "src/module_%03d/file.cpp:%d:%d: warning: unused variable 'x%d' [-Wunused-variable]\n",
				r.IntN(999), r.IntN(2000), r.IntN(80), r.IntN(99))
		}
		return b
	})
}

// Compiling is a build's output without warnings or colours.
func Compiling(size int) []byte { return fill(size, compiling) }

// compiling appends a line about one file of a build.
func compiling(b []byte, r *rand.Rand) []byte {
	return fmt.Appendf(b, "[%4d/9999] Building CXX object src/module_%03d/CMakeFiles/target.dir/file_%05d.cpp.o\n",
		r.IntN(9999), r.IntN(999), r.IntN(99999))
}

// ColouredBuild is a build's output with colours.
func ColouredBuild(size int) []byte {
	const (
		warning = "\x1b[1msrc/file%03d.c:%d:%d: \x1b[0m\x1b[1;35mwarning: " +
			"\x1b[0munused variable \x1b[1mx%d\x1b[0m [-Wunused]\n"
		compiled = "\x1b[1m\x1b[32m   Compiling\x1b[0m module_%03d v%d.%d.%d " +
			"(/home/user/project/crates/module_%03d)\n"
	)
	return fill(size, func(b []byte, r *rand.Rand) []byte {
		if r.IntN(8) == 0 {
			return fmt.Appendf(b, warning, r.IntN(997), r.IntN(2000), r.IntN(80), r.IntN(99))
		}
		return fmt.Appendf(b, compiled, r.IntN(997), r.IntN(9), r.IntN(20), r.IntN(7), r.IntN(997))
	})
}

// ProgressBar is a bar that is drawn again and again over itself.
func ProgressBar(size int) []byte {
	i := 0
	return fill(size, func(b []byte, r *rand.Rand) []byte {
		i++
		return fmt.Appendf(b, "\r[%-40s] %3d%% %d.%d MB/s", strings.Repeat("#", i%41), i%101, r.IntN(99), r.IntN(10))
	})
}

// BlockBar is a bar of box-drawing characters.
func BlockBar(size int) []byte {
	i := 0
	return fill(size, func(b []byte, _ *rand.Rand) []byte {
		i++
		return fmt.Appendf(b, "\r%s%s %3d%%", strings.Repeat("━", i%41), strings.Repeat("╸", 40-i%41), i%101)
	})
}

// CJK is Chinese and Japanese text.
func CJK(size int) []byte {
	return fill(size, func(b []byte, r *rand.Rand) []byte {
		return fmt.Appendf(b, "第%d行：编译模块完成，没有错误，共有三个警告。ビルドに成功しました。\n", r.IntN(9999))
	})
}

// Binary is noise.
func Binary(size int) []byte {
	return fill(size, func(b []byte, r *rand.Rand) []byte {
		for range 1024 {
			b = append(b, byte(r.Uint32()))
		}
		return b
	})
}

func fill(size int, more func([]byte, *rand.Rand) []byte) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 0, size+4096)
	for len(b) < size {
		b = more(b, r)
	}
	return b
}
