// The health checks that ship in examples/health, run as the engines run them, on plans as an API server returned them.
package health

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// What a phase means to each engine. A plan that the agent has not looked at, or not since it changed, has the first line.
var healths = map[string]struct {
	flux status.Status
	argo string
}{
	"":          {status.InProgressStatus, "Progressing"},
	"Running":   {status.InProgressStatus, "Progressing"},
	"Finishing": {status.InProgressStatus, "Progressing"},
	"Aborting":  {status.InProgressStatus, "Progressing"},
	"Holding":   {status.InProgressStatus, "Suspended"},
	"Gated":     {status.InProgressStatus, "Suspended"},
	"Paused":    {status.InProgressStatus, "Suspended"},
	"Succeeded": {status.CurrentStatus, "Healthy"},
	"Preview":   {status.CurrentStatus, "Healthy"},
	"Bypassed":  {status.CurrentStatus, "Healthy"},
	"Aborted":   {status.FailedStatus, "Degraded"},
	"Stalled":   {status.FailedStatus, "Degraded"},
}

const examples = "../../examples/health/"

// Returns Flux's evaluator of the expressions in the example.
func evaluator(t *testing.T) *cel.StatusEvaluator {
	t.Helper()
	text, err := os.ReadFile(examples + "flux-kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var example struct {
		Spec struct {
			HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &example); err != nil {
		t.Fatal(err)
	}
	checks := example.Spec.HealthCheckExprs
	if len(checks) != 1 || checks[0].APIVersion != "rollout.dev/v1alpha1" || checks[0].Kind != "RolloutPlan" {
		t.Fatalf("the example has the checks %+v", checks)
	}
	// As the controller does: it refuses what its reader refuses.
	if _, err := cel.NewStatusReader(checks); err != nil {
		t.Fatal(err)
	}
	evaluator, err := cel.NewStatusEvaluator(&checks[0].HealthCheckExpressions)
	if err != nil {
		t.Fatal(err)
	}
	return evaluator
}

// Reads plans, one a line.
func plansOf(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var plans []*unstructured.Unstructured
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		plan := &unstructured.Unstructured{}
		// This reader keeps whole numbers whole, as a client of the API server does.
		if err := plan.UnmarshalJSON(lines.Bytes()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		plans = append(plans, plan)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return plans
}

// Says what is wrong with the answers about a plan.
func faults(evaluator *cel.StatusEvaluator, script string, plan *unstructured.Unstructured) []string {
	var faults []string
	phase, _, _ := unstructured.NestedString(plan.Object, "status", "phase")
	seen, _, _ := unstructured.NestedInt64(plan.Object, "status", "observedGeneration")
	if seen != plan.GetGeneration() {
		phase = ""
	}
	wanted, known := healths[phase]
	if !known {
		return []string{fmt.Sprintf("nobody says what the phase %q means", phase)}
	}
	result, err := evaluator.Evaluate(context.Background(), plan)
	switch {
	case err != nil:
		faults = append(faults, fmt.Sprintf("Flux cannot tell: %v", err))
	case result.Status != wanted.flux:
		faults = append(faults, fmt.Sprintf("Flux says %s, not %s", result.Status, wanted.flux))
	}
	health, message, err := argo(script, plan)
	switch {
	case err != nil:
		faults = append(faults, fmt.Sprintf("Argo CD cannot tell: %v", err))
	case health != wanted.argo || message == "":
		faults = append(faults, fmt.Sprintf("Argo CD says %s %q, not %s", health, message, wanted.argo))
	}
	// What `wait: true` of Flux, `kubectl wait` and others make of the conditions alone must not be more hopeful.
	generic, err := status.Compute(plan)
	switch {
	case err != nil:
		faults = append(faults, fmt.Sprintf("the conditions say nothing: %v", err))
	case generic.Status == status.CurrentStatus && wanted.flux != status.CurrentStatus:
		faults = append(faults, fmt.Sprintf("the conditions say %s, and the phase %q", generic.Status, phase))
	case generic.Status != status.CurrentStatus && wanted.flux == status.CurrentStatus:
		faults = append(faults, fmt.Sprintf("the conditions say %s (%s), and the phase %q", generic.Status, generic.Message, phase))
	}
	return faults
}

// Every plan of these files; returns how often each phase was seen.
func check(t *testing.T, paths []string) map[string]int {
	t.Helper()
	evaluator, script := evaluator(t), scriptOfArgo(t)
	seen := map[string]int{}
	for _, path := range paths {
		for index, plan := range plansOf(t, path) {
			phase, _, _ := unstructured.NestedString(plan.Object, "status", "phase")
			seen[phase]++
			for _, fault := range faults(evaluator, script, plan) {
				text, _ := json.Marshal(plan.Object["status"])
				t.Errorf("%s:%d: %s\ngeneration %d, status %s", path, index+1, fault, plan.GetGeneration(), text)
			}
		}
	}
	return seen
}

func TestEveryRecordedPlanHasTheHealthOfItsPhase(t *testing.T) {
	seen := check(t, []string{"testdata/recorded.jsonl"})
	for phase := range healths {
		if seen[phase] == 0 {
			t.Errorf("no plan of the phase %q is recorded", phase)
		}
	}
}

// The plans of a run of the end-to-end suite, where one has just been: every state that a watcher saw.
func TestEveryPlanOfTheEndToEndSuiteHasTheHealthOfItsPhase(t *testing.T) {
	folder := os.Getenv("ROLLOUT_E2E_PLANS")
	if folder == "" {
		t.Skip("ROLLOUT_E2E_PLANS names no folder that tests/e2e/run has filled")
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s holds no plans: %v", folder, err)
	}
	seen := check(t, paths)
	var phases []string
	for phase, count := range seen {
		phases = append(phases, fmt.Sprintf("%s %d", phase, count))
	}
	sort.Strings(phases)
	t.Logf("%d files: %v", len(paths), phases)
}

// An expression that is never true would pass every test above that wants progress.
func TestAPlanOfAnotherGenerationIsInProgress(t *testing.T) {
	evaluator, script := evaluator(t), scriptOfArgo(t)
	for _, plan := range plansOf(t, "testdata/recorded.jsonl") {
		plan.SetGeneration(plan.GetGeneration() + 1)
		result, err := evaluator.Evaluate(context.Background(), plan)
		if err != nil || result.Status != status.InProgressStatus {
			t.Errorf("Flux says %v %v of %v", result, err, plan.Object["status"])
		}
		if health, _, err := argo(script, plan); err != nil || health != "Progressing" {
			t.Errorf("Argo CD says %s %v of %v", health, err, plan.Object["status"])
		}
	}
}
