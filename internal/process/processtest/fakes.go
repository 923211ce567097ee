package processtest

import (
	"context"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/internal/wire"
)

// fakes are executors that break the protocol of docs/formats/wire.md. Each is called with
// its stream and a client to open another.
var fakes = map[string]func(wire.Parent_AttachClient, wire.ParentClient){
	"another protocol": func(s wire.Parent_AttachClient, _ wire.ParentClient) {
		say(s, &wire.FromExecutor{Message: &wire.FromExecutor_Hello{Hello: &wire.Hello{Protocol: 99, Version: "9.9.9"}}})
	},
	"no greeting": func(s wire.Parent_AttachClient, _ wire.ParentClient) {
		say(s, &wire.FromExecutor{Message: &wire.FromExecutor_Batch{Batch: &wire.Batch{Seq: 1}}})
	},
	"not ready": func(s wire.Parent_AttachClient, _ wire.ParentClient) {
		hello(s)
		say(s, &wire.FromExecutor{Message: &wire.FromExecutor_Stopping{Stopping: &wire.Stopping{}}})
	},
	"a gap": func(s wire.Parent_AttachClient, _ wire.ParentClient) {
		hello(s)
		ready(s)
		say(s, &wire.FromExecutor{Message: &wire.FromExecutor_Batch{Batch: &wire.Batch{Seq: 5, ToNs: 1}}})
	},
	"attached, and silent": func(wire.Parent_AttachClient, wire.ParentClient) {},
	"ignores commands": func(s wire.Parent_AttachClient, _ wire.ParentClient) {
		hello(s)
		ready(s)
		for {
			m, err := s.Recv()
			if err != nil {
				select {}
			}
			fmt.Printf("%T\n", m.Message)
		}
	},
	"closed its stream": func(s wire.Parent_AttachClient, _ wire.ParentClient) {
		hello(s)
		ready(s)
		_ = s.CloseSend()
	},
	"twice": func(s wire.Parent_AttachClient, c wire.ParentClient) {
		hello(s) // the first is attached for certain
		second, err := c.Attach(context.Background())
		if err == nil {
			_, err = second.Recv()
		}
		fmt.Println("second:", err)
		os.Exit(7)
	},
}

// say sends a message and panics if it can't.
func say(s wire.Parent_AttachClient, m *wire.FromExecutor) {
	if err := s.Send(m); err != nil {
		panic(err)
	}
}

// hello says hello and waits for the start. It panics if the stream ends.
func hello(s wire.Parent_AttachClient) {
	say(s, &wire.FromExecutor{Message: &wire.FromExecutor_Hello{Hello: &wire.Hello{Protocol: wire.Protocol}}})
	if _, err := s.Recv(); err != nil {
		panic(err)
	}
}

// ready reports that the executor is ready.
func ready(s wire.Parent_AttachClient) {
	say(s, &wire.FromExecutor{Message: &wire.FromExecutor_Ready{Ready: &wire.Ready{}}})
}

// fake is the process of the fake executor of that name, which must be one of fakes. It does
// not return, but waits to be killed; it panics if it cannot attach.
func fake(name string) {
	conn, err := grpc.NewClient("unix:"+os.Getenv(executor.SocketEnv), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	client := wire.NewParentClient(conn)
	stream, err := client.Attach(context.Background())
	if err != nil {
		panic(err)
	}
	fakes[name](stream, client)
	select {}
}
