// Package session makes calls, and carries live bytes, over connections that may be lost.
// It knows nothing of what is called.
//
// A session has two halves. Host makes numbered calls; Server, in the plugin, answers
// them. Below them is net/rpc over go-plugin's yamux, on a connection that the host dials:
//
//	Host ── Open, Tell, Live, and the calls ──► Endpoint ► Session :Server
//	     ◄────────── lifeline: news ───────────
//
// An Endpoint is one connection, a Session all that a host does. If a connection is lost, the
// host dials again, for as long as the session lingers, and goes on:
//
//   - A call is sent again under its number. The plugin runs each number once and keeps its
//     reply until the host has it.
//   - Live bytes go on at the position that the host asks for. The plugin keeps the bytes from that
//     position on.
//   - The host first tells the plugin which calls it has given up. The plugin refuses one that
//     arrives later.
//
// Each half sees the end of the other by the lifeline, a stream that the plugin opens and
// that lives as long as the connection. The plugin writes there what the host must know
// at once: that it drains, or why it ends the session.
package session
