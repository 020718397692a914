//! The releases that are timed: ten replicas in steps of 20, 50 and 100 %, by the gateways that OpenKruise was timed with.

use std::fs;
use std::path::Path;

use crate::audit::{Asked, Audit, counted};
use crate::control_plane::ControlPlane;
use crate::course::{self, Times};
use crate::gaps::Gap;
use crate::load::number_of;
use crate::rows::{Rows, greatest, least, load, median};
use crate::subject::Subject;
use crate::world::World;

/// One release.
pub(crate) struct Scenario {
    name: &'static str,
    /// What the Rollout says about its gateway.
    routing: &'static str,
    /// The gateway's object.
    route: &'static str,
    /// The budget of the time to the first step, in seconds.
    budget: Option<f64>,
    /// OpenKruise's seconds: to step 1, from an approval to the next step, to the end.
    kruise: Option<[f64; 3]>,
    /// OpenKruise's pauses of traffic are the user's grace; ours too.
    grace: u32,
}

const VIRTUAL_SERVICE: &str = "\
apiVersion: networking.istio.io/v1beta1
kind: VirtualService
metadata: {name: shop, namespace: NAMESPACE}
spec:
  hosts: [shop.example.com]
  http:
  - timeout: 5s
    route:
    - destination: {host: shop}
";

const HTTP_ROUTE: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: NAMESPACE}
spec:
  parentRefs: [{name: public, namespace: gateways}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /}}]
    backendRefs: [{name: shop, port: 80}]
";

const INGRESS: &str = "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: NAMESPACE}
spec:
  ingressClassName: nginx
  rules:
  - host: shop.example.com
    http:
      paths:
      - path: /
        pathType: Prefix
        backend: {service: {name: shop, port: {name: http}}}
";

const BY_VIRTUAL_SERVICE: &str = "customNetworkRefs: [{apiVersion: networking.istio.io/v1beta1, kind: VirtualService, name: shop}]";

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "virtual-service-no-grace",
        routing: BY_VIRTUAL_SERVICE,
        route: VIRTUAL_SERVICE,
        budget: Some(0.35),
        kruise: Some([20.1, 10.2, 24.0]),
        grace: 0,
    },
    Scenario {
        name: "virtual-service-grace-1",
        routing: BY_VIRTUAL_SERVICE,
        route: VIRTUAL_SERVICE,
        budget: None,
        kruise: Some([19.6, 10.2, 18.0]),
        grace: 1,
    },
    Scenario {
        name: "virtual-service-grace-3",
        routing: BY_VIRTUAL_SERVICE,
        route: VIRTUAL_SERVICE,
        budget: None,
        kruise: Some([20.1, 10.2, 24.0]),
        grace: 3,
    },
    Scenario {
        name: "http-route-no-grace",
        routing: "gateway: {httpRouteName: shop}",
        route: HTTP_ROUTE,
        budget: Some(2.0),
        kruise: Some([23.4, 12.4, 23.8]),
        grace: 0,
    },
    Scenario {
        name: "ingress-no-grace",
        routing: "ingress: {classType: nginx, name: shop}",
        route: INGRESS,
        budget: Some(2.0),
        kruise: Some([24.9, 10.2, 24.0]),
        grace: 0,
    },
];

/// Runs every release several times, and one more that is taken back in its second step.
pub(crate) fn measure(plane: &ControlPlane, folder: &Path, agent: &mut Subject, runs: usize, rows: &mut Rows) -> Result<(), String> {
    rows.say(&format!("\nreleases: the least of {runs}, the median in parentheses; OpenKruise's figure after them; load {}", load()));
    let mut gaps: Vec<Gap> = Vec::new();
    for scenario in SCENARIOS {
        let mut times: Vec<Times> = Vec::new();
        for run in 1..=runs {
            let name = format!("{}-{run}", scenario.name);
            let mut world = World::new(plane, &folder.join("worlds"), &name)?;
            write(&world.folder, scenario, &name)?;
            let (found, stages) = course::succeed(&mut world).map_err(|error| format!("{name}: {error}"))?;
            times.push(found);
            gaps.extend(stages);
            course::clear(&world);
        }
        tell(scenario, &times, rows);
    }
    tell_rollback(plane, folder, runs, rows)?;
    tell_gaps(&gaps, rows);
    let memory = agent.memory()?;
    rows.at_most("after the releases: resident", memory.resident, 25.0, "MiB");
    rows.at_most("after the releases: peak", memory.peak, 40.0, "MiB");
    Ok(())
}

/// Counts what one release of two steps asks of the API server.
pub(crate) fn requests(plane: &ControlPlane, folder: &Path, audit: &Audit, rows: &mut Rows) -> Result<(), String> {
    let name = "two-steps";
    let mut world = World::new(plane, &folder.join("worlds"), name)?;
    write(&world.folder, &SCENARIOS[0], name)?;
    for side in ["before", "after"] {
        let file = world.folder.join(side).join("all.yaml");
        let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let one = "      - {replicas: 50%, traffic: 50%, pause: {}}\n";
        fs::write(&file, text.replace(one, "")).map_err(|error| error.to_string())?;
    }
    let start = audit.length();
    course::succeed(&mut world).map_err(|error| format!("{name}: {error}"))?;
    let all = audit.since(start);
    course::clear(&world);
    // A watch begins with lists of its own.
    let is_watch = |asked: &Asked| asked.verb == "watch" || asked.address.contains("limit=20&");
    let asked: Vec<Asked> = all.into_iter().filter(|asked| !is_watch(asked) && asked.resource != "leases").collect();
    rows.say("");
    rows.at_most("a release of two steps: requests, watches aside", number_of(&asked, |_| true), 50.0, "");
    for (what, count) in counted(&asked) {
        rows.say(&format!("    {count} × {what}"));
    }
    Ok(())
}

fn tell(scenario: &Scenario, times: &[Times], rows: &mut Rows) {
    let of = |value: fn(&Times) -> f64| times.iter().map(value).collect::<Vec<f64>>();
    let parts = [of(|times| times.first), of(|times| times.next), of(|times| times.end)];
    let names = ["change → step 1 ready", "approve → next step ready", "last approval → end"];
    for (index, (name, part)) in names.iter().zip(&parts).enumerate() {
        let kruise = scenario.kruise.map_or(f64::NAN, |kruise| kruise[index]);
        let text = format!("{}: {name} ({:.2}; Kruise {kruise})", scenario.name, median(part));
        match scenario.budget.filter(|_| index == 0) {
            Some(budget) => rows.at_most(&text, least(part), budget, "s"),
            None => rows.value(&text, least(part), "s"),
        }
    }
}

fn tell_rollback(plane: &ControlPlane, folder: &Path, runs: usize, rows: &Rows) -> Result<(), String> {
    let (mut routes, mut ends) = (Vec::new(), Vec::new());
    for run in 1..=runs {
        let name = format!("rollback-{run}");
        let mut world = World::new(plane, &folder.join("worlds"), &name)?;
        write(&world.folder, &SCENARIOS[0], &name)?;
        let (route, end) = course::roll_back(&mut world).map_err(|error| format!("{name}: {error}"))?;
        routes.push(route);
        ends.push(end);
        course::clear(&world);
    }
    rows.value(&format!("rollback at step 2: route back ({:.2}; Kruise 0.05)", median(&routes)), least(&routes), "s");
    rows.value(&format!("rollback at step 2: all back ({:.2}; Kruise 20)", median(&ends)), least(&ends), "s");
    Ok(())
}

fn tell_gaps(gaps: &[Gap], rows: &mut Rows) {
    rows.say(&format!("\na stage is ready → the next one is written, over {} stages; load {}", gaps.len(), load()));
    let mut kinds: Vec<&str> = gaps.iter().map(|gap| gap.awaited.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let millis: Vec<f64> = gaps.iter().filter(|gap| gap.awaited == kind).map(|gap| gap.millis).collect();
        let text = format!("{kind}: median of {} ({:.0} to {:.0})", millis.len(), least(&millis), greatest(&millis));
        rows.at_most(&text, median(&millis), 250.0, "ms");
    }
}

fn write(folder: &Path, scenario: &Scenario, namespace: &str) -> Result<(), String> {
    for (side, version) in [("before", 1), ("after", 2)] {
        let text = format!(
            "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: shop, namespace: {namespace}}}
spec:
  replicas: 10
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop}}}}
    spec:
      containers:
      - name: shop
        image: registry.example.com/shop:{version}
        ports: [{{name: http, containerPort: 80}}]
---
apiVersion: v1
kind: Service
metadata: {{name: shop, namespace: {namespace}}}
spec:
  selector: {{app: shop}}
  ports: [{{name: http, port: 80, targetPort: http}}]
---
apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {{name: shop, namespace: {namespace}}}
spec:
  workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}
  strategy:
    canary:
      enableExtraWorkloadForCanary: true
      steps:
      - {{replicas: 20%, traffic: 20%, pause: {{}}}}
      - {{replicas: 50%, traffic: 50%, pause: {{}}}}
      - {{replicas: 100%, traffic: 100%, pause: {{}}}}
      trafficRoutings:
      - service: shop
        gracePeriodSeconds: {}
        {}
---
{}",
            scenario.grace,
            scenario.routing,
            scenario.route.replace("NAMESPACE", namespace),
        );
        fs::create_dir_all(folder.join(side)).map_err(|error| error.to_string())?;
        fs::write(folder.join(side).join("all.yaml"), text).map_err(|error| error.to_string())?;
    }
    Ok(())
}
