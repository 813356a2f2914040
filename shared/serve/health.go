package serve

import (
	"net"
	"net/http"
	"time"
)

// healthPatience bounds each step of a request to /healthz, which takes milliseconds.
const healthPatience = 5 * time.Second

// ServeHealth serves GET /healthz by ServeHTTP until the listener is closed. It bounds the time and the
// number of connections, so that silent ones cost little.
func (r *Remote) ServeHealth(listener net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", r)
	visitors := new(lobby)
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: healthPatience,
		WriteTimeout:      healthPatience,
		IdleTimeout:       healthPatience,
		MaxHeaderBytes:    8 << 10,
		ConnState: func(conn net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				visitors.enter(conn)
			case http.StateClosed, http.StateHijacked:
				visitors.leave(conn)
			}
		},
	}
	return server.Serve(listener)
}

// ServeHTTP answers whether new sessions are taken: 200, or 503 once Drain was called.
func (r *Remote) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if r.sessions().IsDraining() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}
