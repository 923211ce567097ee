package main

import (
    "context"
    "log"
    "time"

    httpClient "github.com/gobench-io/gobench/clients/http"
    "github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus {
    return scenario.Vus{
        {
            Nu:   12,
            Rate: 100,
            Fu:   f,
        },
    }
}

func f(ctx context.Context, vui int) {
    for {
        log.Println("tic toc")
        time.Sleep(1 * time.Second)
    }
}
