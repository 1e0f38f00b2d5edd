// The controller-runtime side of bench/peers. bench/peers/README.md says what the modes and the lines mean.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const sentAnnotation = "bench.kopper.dev/sent"

var (
	events     atomic.Int64
	reconciles atomic.Int64
	latencies  struct {
		sync.Mutex
		since  int64
		values []int64
	}
)

func main() {
	log.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	ctx := ctrl.SetupSignalHandler()
	var err error
	switch mode {
	case "cache":
		err = runCache(ctx, slices.Contains(os.Args[2:], "--strip"))
	case "controller":
		err = runController(ctx)
	case "operator":
		err = runOperator(ctx)
	default:
		err = fmt.Errorf("usage: go-peer cache [--strip] | controller | operator")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-peer:", err)
		os.Exit(1)
	}
}

func runCache(ctx context.Context, strip bool) error {
	options := cache.Options{Scheme: clientgoscheme.Scheme}
	if strip {
		options.DefaultTransform = cache.TransformStripManagedFields()
	}
	pods, err := cache.New(ctrl.GetConfigOrDie(), options)
	if err != nil {
		return err
	}
	informer, err := pods.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { events.Add(1) },
		UpdateFunc: func(any, any) { events.Add(1) },
		DeleteFunc: func(any) { events.Add(1) },
	})
	if err != nil {
		return err
	}
	go func() { _ = pods.Start(ctx) }()
	toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	say("synced")
	return serve(nil)
}

func runController(ctx context.Context) error {
	manager, err := newManager(clientgoscheme.Scheme)
	if err != nil {
		return err
	}
	again := make(chan event.GenericEvent)
	reader := manager.GetClient()
	err = ctrl.NewControllerManagedBy(manager).Named("pods").For(&corev1.Pod{}).
		WatchesRawSource(source.Channel(again, &handler.EnqueueRequestForObject{})).
		Complete(reconcilePod(reader))
	if err != nil {
		return err
	}
	go run(ctx, manager)
	manager.GetCache().WaitForCacheSync(ctx)
	say("synced")
	return serve(func(rounds int) error { return storm(ctx, reader, again, rounds) })
}

func reconcilePod(reader client.Reader) reconcileFunc {
	return func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		now := time.Now().UnixNano()
		var pod corev1.Pod
		if err := reader.Get(ctx, request.NamespacedName, &pod); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		reconciles.Add(1)
		if sent, err := strconv.ParseInt(pod.Annotations[sentAnnotation], 10, 64); err == nil {
			latencies.Lock()
			if sent > latencies.since {
				latencies.values = append(latencies.values, now-sent)
			}
			latencies.Unlock()
		}
		return ctrl.Result{}, nil
	}
}

// Asks for each pod once a round, and waits until all have been reconciled.
func storm(ctx context.Context, reader client.Reader, again chan<- event.GenericEvent, rounds int) error {
	var list corev1.PodList
	if err := reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	before, begin := reconciles.Load(), time.Now()
	for round := range rounds {
		for i := range list.Items {
			again <- event.GenericEvent{Object: &list.Items[i]}
		}
		for reconciles.Load() < before+int64((round+1)*len(list.Items)) {
			time.Sleep(time.Millisecond)
		}
	}
	say("storm", "reconciles", reconciles.Load()-before, "seconds", time.Since(begin).Seconds())
	return nil
}

type reconcileFunc func(context.Context, ctrl.Request) (ctrl.Result, error)

func (f reconcileFunc) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return f(ctx, request)
}

func newManager(scheme *runtime.Scheme) (ctrl.Manager, error) {
	return ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "127.0.0.1:0"},
		HealthProbeBindAddress: "127.0.0.1:0",
	})
}

func run(ctx context.Context, manager ctrl.Manager) {
	if err := manager.Start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "go-peer:", err)
		os.Exit(1)
	}
}

// Obeys the driver until it closes our standard input.
func serve(storm func(rounds int) error) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		command, argument, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case "mark":
			latencies.Lock()
			values := latencies.values
			latencies.values, latencies.since = nil, time.Now().UnixNano()
			latencies.Unlock()
			slices.Sort(values)
			say("mark", "latencies", len(values), "p50_us", quantile(values, 50), "p99_us", quantile(values, 99))
		case "storm":
			rounds, err := strconv.Atoi(argument)
			if err != nil {
				return err
			}
			if err := storm(rounds); err != nil {
				return err
			}
		default:
			return fmt.Errorf("no command %q", command)
		}
	}
	return lines.Err()
}

func quantile(sorted []int64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(len(sorted)*percent/100, len(sorted)-1)]) / 1e3
}

// One line of JSON for the driver: what happened, and what it has cost until now.
func say(what string, more ...any) {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	line := map[string]any{
		"what":       what,
		"cpu":        float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9,
		"events":     events.Load(),
		"reconciles": reconciles.Load(),
	}
	for i := 0; i < len(more); i += 2 {
		line[more[i].(string)] = more[i+1]
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}
