//! What every code of a finding means: the first line says it in short, the rest tells the reason and the way out.
//!
//! Sorted by code. A test fails on a code of the source that is missing here.

/// Codes and their explanations.
pub const CODES: &[(&str, &str)] = &[
    (
        "api-version-removed",
        "An object has a version of the API that clusters have no more.\n\nKubernetes 1.22 took `extensions/v1beta1` and `networking.k8s.io/v1beta1` of Ingress away. In `networking.k8s.io/v1` a backend is `service: {name: …, port: {number: …}}`, and each path has a `pathType`.",
    ),
    (
        "api-version-unknown",
        "The Rollout has an API version that is not known.\n\nRollouts are read as `rollouts.kruise.io/v1beta1` and `v1alpha1`.",
    ),
    (
        "argocd-options-missing",
        "An Argo CD Application lacks settings, and is out of sync during a release.\n\n`ServerSideApply=true`, `ApplyOutOfSyncOnly=true` and the annotation `argocd.argoproj.io/compare-options: ServerSideDiff=true` belong to the settings. The plan's `argocd.txt` has them all.",
    ),
    (
        "argocd-respect-missing",
        "An Argo CD Application hides differences and still writes them.\n\n`ignoreDifferences` alone says what is shown. With the sync option `RespectIgnoreDifferences=true` a sync leaves it alone as well.",
    ),
    (
        "autoscaler-several",
        "Several autoscalers scale the same workload.\n\nThey overrule each other, in a release as at any other time. Keep one. A ScaledObject of KEDA counts: KEDA makes a HorizontalPodAutoscaler of its own for it.",
    ),
    (
        "autoscaler-too-old",
        "The autoscaler's API version cannot keep pods during a release.\n\n`autoscaling/v2` has `behavior.scaleDown`, which a release needs to keep pods that carry traffic.",
    ),
    (
        "autoscaler-unreadable",
        "The autoscaler has something else than a map where scaling down is switched off.\n\n`spec.behavior` of a HorizontalPodAutoscaler, `spec.advanced.horizontalPodAutoscalerConfig.behavior` of KEDA's ScaledObject, and `scaleDown` in it are maps, or are left out.",
    ),
    (
        "base-plan-unreadable",
        "The base holds a plan for this Rollout that cannot be read.\n\nIt is not used: the release starts from the manifests of the base. Render and commit the plan again.",
    ),
    (
        "build-failed",
        "A kustomization or chart cannot be built.\n\nThe message is what `kustomize`, `kubectl` or `helm` said. Builds run as those programs are found on the PATH, without network, variables of the environment, plugins or Helm inside of kustomize. A chart's dependencies have to be in its `charts` folder.",
    ),
    (
        "build-input-link",
        "A build would have to follow a symbolic link.\n\nBuilds run on a copy of the files that they are made from, and a link is not copied: it may lead to any file of the machine that builds, which would then stand in the report. Put the file itself in its place, or build by yourself: `helm template … | rollout render -`.",
    ),
    (
        "build-input-missing",
        "Something that a build is made from is not there.\n\nA path of a kustomization, a chart, or a file of values leads nowhere. Paths of `.rollout.yaml` are relative to the root.",
    ),
    (
        "build-of-base-failed",
        "The base revision cannot be built, so there is nothing to compare with.\n\nThe plans are previews. The change may mend what is wrong there; otherwise give the built manifests of the base with `--base-dir FILE`.",
    ),
    (
        "build-program-missing",
        "There is something to build, and no program that can.\n\nKustomizations need `kustomize` or `kubectl` on the PATH, charts need `helm`. To read files as they stand instead, use `--no-build`, or `build: none` in `.rollout.yaml`.",
    ),
    ("build-too-large", "A build prints more than an application has.\n\nThe limit is 64 MiB."),
    (
        "build-too-long",
        "A build was stopped because it takes too long.\n\nThe limit is 60 seconds. Builds have no network: what waits for one never ends.",
    ),
    (
        "chart-remote",
        "A chart is on the network, and builds have none.\n\nPull it into the repository, or render it before: `helm template … | rollout render -`.",
    ),
    (
        "claim-shared",
        "The pods of both versions mount a volume that one node at a time can mount.\n\nWhile a release lasts, a second Deployment runs beside the first with the same volumes. A PersistentVolumeClaim that is ReadWriteOnce alone keeps new pods from starting on other nodes than the old ones, ReadWriteOncePod keeps them from starting at all, and data that one pod is meant to write is written by two.",
    ),
    (
        "conditions-too-many",
        "A match has more conditions than a request can be compared with.\n\nTake conditions out, or spread them over several matches.",
    ),
    (
        "config-invalid",
        "`.rollout.yaml` says something that has no meaning.\n\nIt holds `environments`, a list of `{name, path, output, namespace, build}`. `rollout schema config` prints a JSON schema of it.",
    ),
    ("config-unreadable", "`.rollout.yaml` is no YAML.\n\nThe place is where reading stopped."),
    (
        "deadline-invalid",
        "The annotation about a step's deadline cannot be read.\n\n`rollout.dev/step-deadline` is a duration such as `10m`, `rollout.dev/on-deadline` is `hold` or `abort`.",
    ),
    (
        "deadline-missing",
        "What happens at a deadline is said, but not when.\n\n`rollout.dev/on-deadline` does nothing without `rollout.dev/step-deadline`.",
    ),
    (
        "default-backend-stays",
        "The `defaultBackend` of an Ingress leads to the Service, and its requests do not follow the steps.\n\nThe second Ingress of a release has rules alone. What no rule takes stays with the old version until the end. A rule with the path `/` takes such requests into the release.",
    ),
    (
        "destination-policy-missing",
        "A DestinationRule sets a policy for the host of the Service, and none is set for the Service that the release makes.\n\nWhile a step splits traffic, requests to the new version go to `<service>-canary`, another host for Istio: TLS modes, load balancing, connection pools and outlier detection of the stable host do not hold there. A DestinationRule for that host, which may stay in the repository, sets them; with subsets (`disableGenerateCanaryService: true`) there is one host alone.",
    ),
    (
        "documents-joined",
        "Two objects stand in one document.\n\nWithout a line `---` between them they are one map with keys that are written twice: kubectl takes the last of each and loses the first object, and kustomize refuses the file.",
    ),
    (
        "engine-overwrites",
        "An engine writes what a plan changes as soon as the change is merged.\n\nThe release would be out before its first step, or every step would be taken back. Merge the plan's `flux.txt` or `argocd.txt` into the engine's object. In Argo CD `managedFieldsManagers` holds only while the agent owns a field.",
    ),
    (
        "environment-empty",
        "An environment of `.rollout.yaml` has a folder in which nothing is.\n\nIts Rollouts would be overlooked: most often the path is written wrongly. Paths are relative to the root of the repository.",
    ),
    (
        "failure-threshold-unused",
        "The Rollout would tolerate pods that are not ready, and the agent does not.\n\nA step is reached when all of its pods are ready: nobody is sent to pods that may not come. With `rollout.dev/step-deadline` a step that never gets there holds or aborts.",
    ),
    (
        "field-type",
        "A field has a value of another type than it takes.\n\nKubernetes would refuse the object, or Kruise would ignore the field.",
    ),
    (
        "field-unknown",
        "The object has a field that nobody reads.\n\nMost often a misspelled one, or one of the other API version: `weight` belongs to `v1alpha1`, `traffic: 20%` to `v1beta1`.",
    ),
    ("file-name-unreadable", "A file was skipped because its name is not UTF-8.\n\nRename the file if it holds a manifest."),
    (
        "file-too-large",
        "A file was skipped because it is too large for a manifest.\n\nFiles of more than 4 MiB are not read. Split the file if it holds manifests.",
    ),
    ("file-unreadable", "The system refused to give a file.\n\nThe plans would be made without what it holds, so the answer is no."),
    (
        "findings-many",
        "More is wrong with one Rollout than anybody reads.\n\nThe worst hundred findings are told. Mend those, and look again.",
    ),
    (
        "flux-name-unanchored",
        "A Flux Kustomization ignores paths of more objects than are meant.\n\nNames of a target are regular expressions: `shop` matches `shop-db` as well. Write `^shop$`.",
    ),
    (
        "gateway-invalid",
        "A `gateway.yaml` says something that has no meaning.\n\nIt declares what a script can do: `role`, `paths`, `weights`, `matches`, `headerModifier`, `accepted`, `clone`, `limits`.",
    ),
    (
        "gateway-named-twice",
        "A Rollout names the same gateway object twice.\n\nTwo scripts would rewrite one object, each from the original. Take one reference out.",
    ),
    (
        "gateway-object-missing",
        "A gateway object that the Rollout names is not in the repository.\n\nReferences lead to the nearest object with that kind, name and namespace, within the environment.",
    ),
    (
        "gateway-without-script",
        "No script rewrites objects of this kind.\n\n`rollout gateways` lists the kinds that have one. Write your own as `lua_configuration/<group>/<Kind>/trafficRouting.lua`.",
    ),
    (
        "header-modifier-unused",
        "A step changes headers of requests to the new version, and sends it none by a route.\n\nHeaders are changed where a route leads to the new version: in steps with traffic or `matches`. Give the step one of both, or take `requestHeaderModifier` out.",
    ),
    ("header-name", "A header's name is not one that HTTP allows.\n\nNames are letters, digits and some marks, without spaces and colons."),
    (
        "header-value",
        "A value to compare with, or to write into a header, is empty, too long, or not one that HTTP allows.\n\nValues have no control characters but tabs, and so no line ends.",
    ),
    (
        "ignore-by-index",
        "An engine is told to ignore an item of a list.\n\nA step adds and removes items, and Argo CD and Flux take most lists of gateway objects as a whole. Ignore the whole list.",
    ),
    (
        "ingress-class-differs",
        "An Ingress is of a class that its dialect does not sound like.\n\nThe Rollout says with `classType` for which controller the Ingress is written; without it, for `nginx`. A controller that does not read these annotations serves the stable version alone, whatever the step says. Name the dialect that the controller reads; where the class merely has a name of its own, this can be passed over.",
    ),
    (
        "ingress-is-canary",
        "The Ingress that the Rollout names is a canary of another Ingress.\n\nWith the annotation `nginx.ingress.kubernetes.io/canary: \"true\"` it takes a part of the requests of an Ingress with the same host and path. The release makes such an Ingress by itself, beside the one that has the requests: name that one.",
    ),
    (
        "kustomization-remote",
        "A kustomization names something on the network, and builds have none.\n\nWhat is reviewed has to be what is in the repository. Copy it there, or build before: `kustomize build … | rollout render -`.",
    ),
    (
        "kustomization-unlisted",
        "A Rollout lies beside a kustomization that does not list it.\n\nThe kustomization is what is deployed, so the file is not read. List it under `resources`.",
    ),
    ("kustomization-unreadable", "A kustomization is no YAML.\n\nThe place is where reading stopped."),
    (
        "manifest-leaves-sync",
        "A manifest leaves the folder that an engine syncs, and the engine deletes the live object.\n\nFirst merge the annotation that forbids it (`kustomize.toolkit.fluxcd.io/prune: disabled` for Flux, `argocd.argoproj.io/sync-options: Prune=false` for Argo CD), let it sync, and then move the manifest.",
    ),
    (
        "match-empty",
        "A match has no condition.\n\nIt would match every request. Write a header, a query parameter or a path, or take the match out.",
    ),
    (
        "match-type",
        "A match compares in a way that does not exist.\n\nHeaders and query parameters are compared by `Exact` or `RegularExpression`, paths also by `PathPrefix`.",
    ),
    ("matches-too-many", "A step has more matches than a gateway takes.\n\nTake matches out, or say the same with a regular expression."),
    ("name-invalid", "A name is not one that Kubernetes allows.\n\nNames are small letters, digits, `-` and `.`."),
    (
        "name-taken",
        "The release needs a name that another object of the repository has.\n\nA canary workload or Service is called after the stable one, with `-canary`. Rename the object in the way.",
    ),
    (
        "name-too-long",
        "The name of a Service gets too long with its ending.\n\nThe release makes a second Service, with `-canary` at the end of its name, and a Service's name has at most 63 characters: so the first one's has at most 56.",
    ),
    (
        "name-twice",
        "A match names the same header or parameter twice.\n\nAll conditions of a match must hold. Write a second match for the other value.",
    ),
    (
        "namespace-default",
        "An object says no namespace, and is taken to be in `default`.\n\nWrite `metadata.namespace`, or `namespace` in the environment of `.rollout.yaml`.",
    ),
    (
        "no-base",
        "There is nothing to compare the manifests with.\n\nWithout a base there is no release, only a preview of how one would go. `--base` names a revision, `--base-dir` a folder.",
    ),
    (
        "no-rollouts",
        "The files hold no Rollout.\n\nIgnored files are not read, and templates of a chart only as the chart's manifests: `rollout render --helm CHART`, or `build: {helm: {chart: CHART}}` of an environment in `.rollout.yaml`. The output of any other program goes into `rollout render -`.",
    ),
    (
        "not-rendered-yet",
        "This style or kind of workload is not rendered yet.\n\nWhat works is a Deployment in Canary style, which keeps the old pods and makes a second Deployment for the new ones: `enableExtraWorkloadForCanary: true` below `canary` in `v1beta1`, whose default is the Partition style; in `v1alpha1` it is the default. Keep other Rollouts in a cluster where OpenKruise runs and this agent does not.",
    ),
    (
        "object-shared",
        "Several releases of this change touch the same object.\n\nIn mid-release an object belongs to one plan. The agent runs one release after the other: those that wait are `Holding`, name the plan that they wait for, and begin by themselves when that is over. Until then their workloads stay as they are. To release both at the same time, give each a route or Service of its own.",
    ),
    ("path-invalid", "A path to match does not begin with `/`, or cannot be a path.\n\nWrite it as it stands in a request."),
    ("pause-negative", "A pause is shorter than nothing.\n\nWrite the seconds of the pause; no `duration` waits for an approval."),
    (
        "placeholder",
        "An object of the release holds a placeholder that is filled in later.\n\nFlux fills in `${NAME}` when it applies manifests (`postBuild`), and not in a plan, which has to be what was reviewed. So the plan would bring the placeholder into the cluster. Give `rollout` what Flux applies: `kustomize build FOLDER | flux envsubst --strict | rollout render - --base-dir FILE`. Shell text (`command`, `args`, probes, values of environment variables) and annotations are not looked at: `${NAME}` has a meaning of its own there.",
    ),
    (
        "plan-large",
        "The plan is so large that `kubectl apply` without `--server-side` fails.\n\nThe plan asks Argo CD for server-side apply by itself. The message names the largest object.",
    ),
    (
        "plan-not-synced",
        "The engine of this repository does not sync the plan.\n\nThe agent never sees it then. Let `output` lie in a folder that is synced, add the folder to the engine, or apply plans by other means.",
    ),
    (
        "plan-stale",
        "A committed plan is not what the manifests say.\n\nRun `rollout render --out` and commit what it writes, so that what was reviewed is what is applied.",
    ),
    (
        "plan-too-large",
        "The plan is larger than an object in a cluster may be.\n\netcd takes objects up to 1.5 MiB. Fewer steps or smaller gateway objects make a smaller plan; the message names the largest object.",
    ),
    (
        "plan-unsound",
        "The plan has faults by which nothing would read it.\n\nIt is not written. Most often an object has a name that no cluster takes; the message says where.",
    ),
    (
        "plans-elsewhere",
        "Plans are written to another folder than the one that holds plans already.\n\nThe former plans stay and are read by nobody here; an engine that syncs both folders finds two plans of one release. Remove the former ones, or change `output` in `.rollout.yaml`.",
    ),
    (
        "pod-metadata-unwritable",
        "The pod template has no map for the labels or annotations of `patchPodTemplateMetadata`.\n\n`labels` and `annotations` of a pod template are maps, or are left out.",
    ),
    (
        "reference-ambiguous",
        "Several objects are equally near to the Rollout that names one.\n\nThe nearest file wins: the same folder, then upwards. Give every environment a folder in `.rollout.yaml`.",
    ),
    (
        "release-without-change",
        "The rollout id changed, but the pod template did not.\n\nThere are no new pods: the release completes at once.",
    ),
    (
        "rolling-style",
        "The annotation for the style has a value that does not exist.\n\n`rollouts.kruise.io/rolling-style` is `canary` or `partition`.",
    ),
    ("rollout-disabled", "The Rollout is disabled, so there is no plan.\n\n`spec.disabled: true` turns progressive delivery off."),
    (
        "rollout-in-output",
        "A Rollout lies in the folder that plans are written to.\n\nNothing there is read as a manifest. Move the file, or choose another `output`.",
    ),
    (
        "rollout-nameless",
        "A Rollout has no fixed name.\n\nIts plan, its status and every command name it. Write `metadata.name`: `generateName` makes another name each time.",
    ),
    (
        "rollout-outside",
        "A Rollout lies in no environment's folder.\n\nIt is not read, so no plan is made of it, and no review shows its releases. Name its folder in `.rollout.yaml`, or leave it: a folder of drafts needs no environment.",
    ),
    (
        "rollout-removed",
        "A change takes a Rollout away, and changes the pods of its workload.\n\nWithout a Rollout there is no plan, and the engine writes the workload as soon as the change is merged: all pods are replaced without steps. Release first, and take the Rollout away in a change of its own.",
    ),
    (
        "rollout-twice",
        "Two Rollouts of one environment have the same name and namespace.\n\nThey would have one plan. Rename one, or give each its environment in `.rollout.yaml`.",
    ),
    (
        "rollout-unread",
        "A Rollout of the base is not read any more.\n\nThe change takes it away, moves it to a folder that is not read, or changes the rules by which files are read: `.rollout.yaml`, an output folder, a kustomization, a build. Whatever deploys the repository may still read it, and then its releases are not reviewed.",
    ),
    (
        "route-not-split",
        "A route to the Service is not named by the Rollout.\n\nThe steps rewrite the routes that the Rollout names. Requests of others stay with the old version while the Service is pinned to it, and get the new one all at once at the end; where subsets tell the versions apart, they follow the number of pods.",
    ),
    (
        "route-to-canary",
        "A rule of your own leads to the Service that the release makes.\n\n`<service>-canary` exists in steps with traffic alone. Whatever the rule takes gets the new version then, whatever the step declares, and reaches no pod at any other time. Let the steps say it in `matches`, and take the rule out.",
    ),
    (
        "routing-class",
        "The class of an ingress cannot be the name of a dialect.\n\n`classType: nginx` names the script `trafficrouting_ingress/nginx.lua`.",
    ),
    (
        "routing-empty",
        "A traffic routing names no object.\n\nNo request goes to the new version by weight or match. Where a step has traffic, this is an error: the Service would be pinned to the old version, and the share that the step declares would not be there.",
    ),
    ("routing-gateway", "The `gateway` of a routing names no HTTPRoute.\n\nWrite `gateway: {httpRouteName: shop}`."),
    (
        "routing-grace",
        "The grace period is shorter than nothing.\n\n`gracePeriodSeconds` is how long to wait after routes have changed; it is 3 by default.",
    ),
    ("routing-ingress", "The `ingress` of a routing has no name.\n\nWrite `ingress: {name: shop}`."),
    ("routing-nothing", "A traffic routing says nothing about who routes.\n\nName an `ingress`, a `gateway` or `customNetworkRefs`."),
    ("routing-reference", "A reference to a gateway object is not complete.\n\nIt needs `apiVersion`, `kind` and `name`."),
    ("routing-service", "A traffic routing names no Service.\n\nName the one whose pods the workload runs: `service: shop`."),
    ("routing-several", "A Rollout has more than one traffic routing.\n\nOne routing has one Service and any number of gateway objects."),
    ("routing-twice", "A routing names the same object twice.\n\nEvery object is rewritten once, from its original."),
    (
        "script-beyond-lua51",
        "A script of yours uses what Lua 5.1 does not have.\n\nIt runs here, but OpenKruise would refuse it. Write the line in Lua 5.1.",
    ),
    ("script-fails", "A script stopped with an error.\n\nThe message has the script's line. `rollout test` runs the cases of a script."),
    (
        "script-result",
        "A script returned an object that cannot be right.\n\nThe object must stay the same object, weights must sum up as declared, no rule of yours may get lost, and something must change when the step says so. Nothing changes where no rule of the object leads to the Service that the Rollout names, in its namespace, and where a step's matches and the rules never hold together.",
    ),
    (
        "script-unreadable",
        "A script is no text, or the ConfigMap of scripts is no YAML.\n\nScripts are UTF-8. Of a file that cannot be read no script is run.",
    ),
    (
        "scripts-exceed",
        "The scripts of this run use more than scripts may: 2,000,000,000 instructions, or 100 seconds of all threads.\n\nEach call has limits of its own (20,000,000 instructions, 64 MiB, 10 seconds); this one is for all calls together, so that many Rollouts with costly scripts cannot keep a CI job for hours. No plan of such a run is given, since it would depend on the order of the threads which scripts still ran.",
    ),
    (
        "service-missing",
        "The Service that the Rollout names is not in the repository.\n\nWithout it no canary Service can be made, and nothing tells old pods from new ones.",
    ),
    (
        "service-not-split",
        "Another Service selects the same pods, and no step splits its requests.\n\nAs soon as pods of the new version run, they stand behind it: of n new beside R old pods they get n/(R+n) of its requests, whatever the step declares. That may be meant for a Service that only scrapes metrics or finds pods; requests of users go through the Service that the Rollout names.",
    ),
    (
        "service-port-lost",
        "A port of the Service leads to a port that the old pods name, and the new ones do not.\n\nA name that no container has leads nowhere: nobody answers at that port of the new version, in a step as after the release. Keep the name in the pod template; it can lead to another number. A number may be listened at without saying so: then this is a warning that can be passed over.",
    ),
    (
        "service-port-missing",
        "A route leads to a port that its Service does not have, and nobody answers there.\n\nOnly the selector of a Service is part of a release: its ports change as soon as the change is merged, while a route stays as it was until its step, and goes back to that on an abort. Where a port gets another number, let the Service have both in this change, and take the old one away in the next.",
    ),
    (
        "service-port-moves",
        "A port of the Service leads to another port of the pods, and the old pods do not name that.\n\nOnly the selector of a Service is part of a release: its ports are written as soon as the change is merged, while all pods are old. A Service that leads by name reaches every pod where it listens: give the port a name in the pod template, let that out, and then write the name as `targetPort`. Where the old pods listen there without saying so, this can be passed over.",
    ),
    (
        "service-selector-between",
        "The Service selects by other labels after the release, and by others again on the way there.\n\nWhile the stable workload takes the new version over, old and new pods have to be reached. The labels that both have are what the Service selects by meanwhile; no file shows it but the plan.",
    ),
    (
        "service-selector-leaps",
        "The Service selects by other labels after the release, and no label is common to the pods of both versions.\n\nWhile the stable workload takes the new version over, the Service has to select old and new pods. A selector cannot say \"either\", so this needs a label that both have. Give the new pods the labels in one change, and let the Service select by them in the next.",
    ),
    (
        "service-selects-no-pods",
        "The Service's selector does not fit the pods of the workload.\n\nTraffic through this Service never reaches the released pods.",
    ),
    (
        "service-selects-others",
        "The Service selects by other labels after the release, and on the way there it would select pods of another workload.\n\nWhile the stable workload takes the new version over, the Service selects what the pods of both versions have in common. Here that is so little that others have it too, and would get requests. Give the new pods the labels in one change, and let the Service select by them in the next.",
    ),
    (
        "service-shared",
        "The Service that the release narrows to one workload has pods of others behind it.\n\nWhile traffic is split, the stable Service selects the old pods of the released workload alone, by their `pod-template-hash`. Pods of other workloads with the same labels would get no requests through it for as long as the release lasts. Give the workload a Service of its own, whose selector has a label that only its pods have, and route to that: in Istio's layout of one Service with a subset for each Deployment, a destination `shop-v2` in place of the subset `v2` of `shop`. For pods of jobs, which answer no requests, it is a warning.",
    ),
    (
        "service-without-selector",
        "The Service has no selector.\n\nPods of the two versions cannot be told apart through it. One that gets its selector together with the new version had none to tell them by: give it the selector in a change before.",
    ),
    ("spec-missing", "The Rollout has no `spec`.\n\nIt needs `workloadRef` and `strategy`."),
    (
        "step-beyond-gateway",
        "A step asks for more than the gateway can express.\n\nThe script was not run. `rollout gateways` lists what each can do; split the step, or name another gateway object.",
    ),
    (
        "step-replicas-decreasing",
        "A step has fewer pods than the step before.\n\nReleases only move forward; the way back is an abort or a jump.",
    ),
    ("step-replicas-invalid", "A step's replicas are neither a number nor a percentage.\n\nWrite `replicas: 1` or `replicas: 20%`."),
    (
        "step-replicas-missing",
        "A step does not say how many pods it has.\n\nWrite `replicas`; in `v1alpha1`, a step with `weight` takes the same share of pods.",
    ),
    ("step-traffic-invalid", "A step's traffic is not a percentage.\n\nIn `v1beta1` write `traffic: 20%`."),
    ("step-weight-decreasing", "A step sends less traffic to the new version than the step before.\n\nReleases only move forward."),
    (
        "step-weight-invalid",
        "A step's weight is not a whole percentage from 0 to 100.\n\nWrite `weight: 20` in `v1alpha1`, `traffic: 20%` in `v1beta1`.",
    ),
    ("steps-empty", "The strategy has no steps.\n\nA release needs at least one."),
    ("steps-too-many", "The strategy has more steps than a person can review.\n\nTake steps out."),
    ("strategy-both", "The strategy is both canary and blue-green.\n\nTake one away."),
    ("strategy-missing", "The Rollout has no strategy.\n\nWrite `strategy: {canary: {steps: [...]}}`."),
    (
        "subset-undefined",
        "A step sends requests to a subset that no DestinationRule of the repository defines.\n\nIstio answers them with 503. With `disableGenerateCanaryService` the new version is the subset `canary`: name the DestinationRule of the Service in `customNetworkRefs` beside the VirtualService, and the release defines the subset while it lasts; or define it yourself, in a DestinationRule of the Rollout's namespace. Where your own routes name subsets that no file defines, the DestinationRule is taken to be kept elsewhere, and this is a warning.",
    ),
    (
        "traffic-differs",
        "The manifests of a step give the new version another share than the step declares.\n\nThe share is computed from the rendered gateway objects, Services and pod labels, request by request, without the script that made them. A warning says that requests of another workload get the new version too, when they match. Requests that reach no pod most often lack a label: `patchPodTemplateMetadata` gives the new pods that of their subset. Where your own rules and labels are right, the script is wrong: write a case for `rollout test` that shows it.",
    ),
    (
        "traffic-leaks",
        "A destination that is meant for the old version has pods of the new version behind it too.\n\nIn steps with traffic, requests to it reach the new version by the number of pods, beside the share that the step declares. With `disableGenerateCanaryService` nobody pins the Service: let every destination name a subset whose labels only one version's pods have. It is an error where the new version gets more than the step declares, and a warning where a cluster decides how many pods there are.",
    ),
    (
        "traffic-lost",
        "Requests that reach pods today reach none in a step, or after the release.\n\nA subset of a DestinationRule, or a Service, selects by labels that change together with the pods: what is written for the new pods does not select the old ones. Give the pods the new label beside the old one in one change, let the subset select by it in the next, and take the old label away in a third.",
    ),
    (
        "traffic-not-proved",
        "The manifests alone do not show that a step does what it declares.\n\nFor VirtualService, HTTPRoute and nginx Ingress, the new version's share of each request is computed from the manifests that the script wrote. That is not possible for other kinds, for paths and headers that are compared with expressions, for rules that delegate to another object, and for more than 2,000 requests. The message gives the reason. The share in the tables is what the step declares, marked as `not proved`; `rollout test` runs a script's own cases.",
    ),
    (
        "traffic-routing-shared",
        "The Rollout names a TrafficRouting, which is not read yet.\n\nIt does so by the annotation `rollouts.kruise.io/trafficrouting`, or by `trafficRoutingRef` in `v1beta1`. Rendered without it, requests would follow the number of pods. Write `trafficRoutings` in the Rollout.",
    ),
    (
        "traffic-without-routing",
        "A step splits traffic, but nobody routes it.\n\nWrite `trafficRoutings`, or take traffic and matches out of the steps. A DestinationRule alone routes nothing: it only says which pods a version has. Name the VirtualService that sends requests to its subsets as well.",
    ),
    (
        "unreadable",
        "A file that may hold a Rollout cannot be read as YAML.\n\nNothing in this document is known. YAML is indented by spaces, never by tabs; templates of Helm have to be rendered before (docs/sources.md); files are UTF-8.",
    ),
    (
        "value-refused",
        "A field has a value that no API server takes.\n\nThe change could not be applied, and the plan would be computed from something that never runs. Only fields are looked at that a plan depends on: numbers of pods and of seconds, ports, labels and selectors.",
    ),
    (
        "weight-beside-matches",
        "A gateway cannot take matches and a weight in one step.\n\nThe matches are rendered and the weight is not. Make two steps of it.",
    ),
    (
        "workload-missing",
        "The workload that the Rollout names is not in the repository.\n\nReferences lead to the nearest object with that kind, name and namespace, within the environment. Where kustomize renames the workload (`namePrefix`, `nameSuffix`), a file that `configurations` of the kustomization lists makes it rename the reference too: `nameReference: [{kind: Deployment, fieldSpecs: [{kind: Rollout, path: spec/workloadRef/name}]}]`.",
    ),
    (
        "workload-new",
        "The workload is not in the base.\n\nIt is created at once, in full: there is no old version that a step could keep. The next change of its pod template is a release. After a rename, the workload of the old name is nobody's any more: take it away when its traffic has moved.",
    ),
    (
        "workload-paused",
        "The Deployment is paused, and its pods would never change.\n\nAt the end of a release the Deployment takes the new version over. A paused one does not, and the agent waits for it.",
    ),
    (
        "workload-recreates",
        "The Deployment takes all its pods away before it makes new ones.\n\nAt the end of a release that leaves only the pods of the last step, which get every request meanwhile. A last step with all pods carries that, and so does the strategy `RollingUpdate`.",
    ),
    (
        "workload-reference",
        "The Rollout does not say completely which workload it releases.\n\n`workloadRef` has `apiVersion`, `kind` and `name`; in `v1alpha1` it stands in `objectRef`.",
    ),
    (
        "workload-selector-changes",
        "The selector of a Deployment changes, and no cluster takes that.\n\nA Deployment's `spec.selector` can never change, and a pod template has to keep the labels that it names. Keep both, or write a Deployment of another name.",
    ),
    (
        "workload-selects-no-pods",
        "The pods of a Deployment have other labels than its own selector asks for, and no cluster takes that.\n\nThe second Deployment of a release has the selector of the first. `patchPodTemplateMetadata` may add labels to its pods, such as those of a subset, and may not change one that the selector names.",
    ),
    ("workload-shared", "Two Rollouts release the same workload.\n\nEach would undo what the other does. Keep one."),
    (
        "workload-unsupported",
        "The workload is of a kind that cannot be released.\n\nDeployments, StatefulSets, DaemonSets and the workloads of OpenKruise can; others with the label `rollouts.kruise.io/workload-type: statefulset`.",
    ),
    (
        "workload-without-pods",
        "The workload has 0 replicas.\n\nThere is nothing to bring in step by step: the new template is applied at once, and no plan is made.",
    ),
    (
        "yaml-duplicate-key",
        "A map has the same key twice.\n\nThe last one counts for kubectl; other readers refuse the file. Take the others away.",
    ),
    (
        "yaml-read-differently",
        "A value means one thing to kubectl and another to kustomize.\n\nOld YAML reads `0644` as 420 and `on` as true. Put the value in quotes if it is a text.",
    ),
    ("yaml-unread", "A part of the file is read by nobody.\n\nSeparate documents with `---`."),
];

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(CODES.is_sorted_by(|(left, _), (right, _)| left < right));
    }
}
