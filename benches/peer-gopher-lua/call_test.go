package peer

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

const scriptPath = "../../lua_configuration/networking.istio.io/VirtualService/trafficRouting.lua"

func inputs(t testing.TB) (string, []byte) {
	script, err := os.ReadFile(scriptPath)
	if err != nil {
		t.Fatal(err)
	}
	object, err := os.ReadFile("object.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(script), object
}

func TestTheScriptMovesAShare(t *testing.T) {
	answer, err := Call(inputs(t))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(answer), `"weight":20`) || !strings.Contains(string(answer), "shop-canary") {
		t.Fatalf("%s", answer)
	}
}

// BenchmarkCall measures one call over an object of 10 KB: the time, and the processor's time, which a busy machine does
// not stretch as much.
func BenchmarkCall(b *testing.B) {
	script, object := inputs(b)
	b.ReportAllocs()
	began := processorTime(b)
	for b.Loop() {
		if _, err := Call(script, object); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
}

// processorTime returns what all threads of the process have used so far, the garbage collector's included.
func processorTime(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
