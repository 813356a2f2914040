// Package confinement tests what Confine and Resources keep, as root and as an ordinary
// user, against commands that try to get around them.
package confinement
