package health

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func scriptOfArgo(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(examples + "argocd-health.lua")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Runs a health script in what Argo CD gives one from argocd-cm: one second, and of the libraries only package, base and table.
func argo(script string, plan *unstructured.Unstructured) (health, message string, err error) {
	machine := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer machine.Close()
	libraries := map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable}
	for _, name := range []string{lua.LoadLibName, lua.BaseLibName, lua.TabLibName} {
		open := lua.P{Fn: machine.NewFunction(libraries[name]), Protect: true}
		if err := machine.CallByParam(open, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	limit, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	machine.SetContext(limit)
	machine.SetGlobal("obj", toLua(machine, plan.Object))
	if err := machine.DoString(script); err != nil {
		return "", "", err
	}
	answer, ok := machine.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the script returned a %s", machine.Get(-1).Type())
	}
	status, isText := answer.RawGetString("status").(lua.LString)
	said, isSaid := answer.RawGetString("message").(lua.LString)
	if !isText || !isSaid {
		return "", "", fmt.Errorf("the script returned the status %v and the message %v", answer.RawGetString("status"), answer.RawGetString("message"))
	}
	return string(status), string(said), nil
}

func toLua(machine *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		list := machine.NewTable()
		for _, item := range value {
			list.Append(toLua(machine, item))
		}
		return list
	case map[string]any:
		table := machine.NewTable()
		for key, item := range value {
			table.RawSetString(key, toLua(machine, item))
		}
		return table
	default:
		return lua.LNil
	}
}
