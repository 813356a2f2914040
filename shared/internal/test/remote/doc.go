// Package remote tests plugins that serve hosts on other machines: certificates, sessions,
// and connections that stall, lie or are lost.
package remote
