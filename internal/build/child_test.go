package build

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// childEnv makes the test binary act as another gobench process, which builds the scenario
// at that path.
const (
	childEnv   = "GOBENCH_BUILD_TEST_CHILD"
	childCache = "GOBENCH_BUILD_TEST_CACHE"
	childGo    = "GOBENCH_BUILD_TEST_GOCACHE"
	childSDKs  = "GOBENCH_BUILD_TEST_SDKS"
)

func childMain(path string) {
	goCache = os.Getenv(childGo)
	b, err := New(testSDK(), os.Getenv(childCache), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err == nil {
		b.sdks = os.Getenv(childSDKs)
		o := offline()
		o.Limits.Time = 3 * time.Second // from which the kernel's limit of processor time is derived
		o.Progress = func(step string) { fmt.Println(step) }
		_, err = b.Build(context.Background(), Source{Path: path}, o)
	}
	fmt.Println("built:", err)
	os.Exit(0)
}
