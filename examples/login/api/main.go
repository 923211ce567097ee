// A small shop's API, for examples/login: users log in, and need their token for all else.
//
//	go run -C examples ./login/api
//
// It listens on 127.0.0.1:8090; -addr names another address. Each user's password is "secret".
package main

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// shop holds what the API remembers.
type shop struct {
	users  sync.Map // by token
	orders atomic.Int64
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8090", "where to listen; port 0 takes a free one")
	flag.Parse()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	s := new(shop)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /cart", s.cart)
	mux.HandleFunc("POST /orders", s.order)
	log.Fatal(http.Serve(listener, mux))
}

// login answers a token for {"user", "password"}.
func (s *shop) login(w http.ResponseWriter, r *http.Request) {
	var who struct{ User, Password string }
	if err := json.NewDecoder(r.Body).Decode(&who); err != nil || who.User == "" || who.Password != "secret" {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "wrong user or password"})
		return
	}
	token := rand.Text()
	s.users.Store(token, who.User)
	answer(w, http.StatusOK, map[string]string{"token": token})
}

// user returns the user of r's token; ok is false, and r is answered, without a valid one.
func (s *shop) user(w http.ResponseWriter, r *http.Request) (name string, ok bool) {
	user, ok := s.users.Load(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !ok {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "log in first"})
		return "", false
	}
	return user.(string), true
}

// cart answers what the user is about to buy.
func (s *shop) cart(w http.ResponseWriter, r *http.Request) {
	if name, ok := s.user(w, r); ok {
		answer(w, http.StatusOK, map[string]any{"user": name, "items": []string{"tea", "cups"}})
	}
}

// order answers the number of a new order.
func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.user(w, r); ok {
		answer(w, http.StatusCreated, map[string]int64{"id": s.orders.Add(1)})
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Print(err)
	}
}
