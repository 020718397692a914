//! A repository of any size: rollouts with all they need, among files that have nothing to do with them.
//!
//! `cargo bench --bench big_repository -- FOLDER` writes one to look at, or to measure by hand.
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a generated repository holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Each with five steps, a Deployment and a Service.
    pub(crate) rollouts: usize,
    /// Gateway objects of 2 KB for each rollout: a VirtualService, a second one, an HTTPRoute.
    pub(crate) gateways: usize,
    /// All files together; those that no rollout needs fill up.
    pub(crate) files: usize,
    /// How many rollouts get another image on the branch that is checked out.
    pub(crate) changed: usize,
}

/// The length that files are filled up to.
const LENGTH: usize = 2048;

/// Writes the repository: the base at `origin/main`, and the branch `change` with the new images, one commit later.
pub(crate) fn repository(folder: &Path, shape: Shape) {
    let mut count = 0;
    for number in 0..shape.rollouts {
        for (name, text) in application(number, shape.gateways, "1.0") {
            write(&folder.join(format!("apps/team-{:02}/{}/{name}", number % 20, application_name(number))), &text);
            count += 1;
        }
    }
    for number in count..shape.files {
        write(&folder.join(format!("platform/area-{:03}/{:05}.yaml", number % 200, number)), &unrelated(number));
    }
    git(folder, &["init", "-q", "-b", "main"]);
    commit(folder, "base");
    git(folder, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(folder, &["checkout", "-q", "-b", "change"]);
    for number in 0..shape.changed {
        let path = folder.join(format!("apps/team-{:02}/{}/deployment.yaml", number % 20, application_name(number)));
        write(&path, &deployment(&application_name(number), "2.0"));
    }
    commit(folder, "change");
    // Files as new as the index would be read again by everyone who compares them.
    git(folder, &["update-index", "-q", "--refresh"]);
}

fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"])
        .args(arguments)
        .current_dir(folder)
        .status()
        .expect("git is installed");
    assert!(status.success(), "git {arguments:?}");
}

fn commit(folder: &Path, message: &str) {
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", message]);
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("the folder can be made");
    fs::write(path, text).expect("the file can be written");
}

/// The name of an application by its number.
pub(crate) fn application_name(number: usize) -> String {
    format!("app-{number:04}")
}

/// The files of one application, by name.
pub(crate) fn application(number: usize, gateways: usize, version: &str) -> Vec<(String, String)> {
    let name = application_name(number);
    let mut files = vec![
        ("rollout.yaml".to_owned(), rollout(&name, gateways)),
        ("deployment.yaml".to_owned(), deployment(&name, version)),
        ("service.yaml".to_owned(), service(&name)),
    ];
    let routes = [
        ("virtual-service.yaml", virtual_service(&name)),
        ("inner.yaml", virtual_service(&format!("{name}-inner"))),
        ("http-route.yaml", http_route(&name)),
    ];
    files.extend(routes.into_iter().take(gateways).map(|(file, text)| (file.to_owned(), text)));
    files
}

fn rollout(name: &str, gateways: usize) -> String {
    let mut text = format!(
        "\
apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata:
  name: {name}
  namespace: prod
spec:
  workloadRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {name}
  strategy:
    canary:
      enableExtraWorkloadForCanary: true
      steps:
"
    );
    for (weight, replicas) in [(5, "1"), (20, "20%"), (40, "40%"), (60, "60%"), (80, "80%")] {
        let _ = write!(text, "      - traffic: {weight}%\n        replicas: {replicas}\n        pause: {{}}\n");
    }
    let _ = write!(text, "      trafficRoutings:\n      - service: {name}\n");
    for (index, route) in [name.to_owned(), format!("{name}-inner")].iter().take(gateways).enumerate() {
        if index == 0 {
            text.push_str("        customNetworkRefs:\n");
        }
        let _ =
            write!(text, "        - apiVersion: networking.istio.io/v1beta1\n          kind: VirtualService\n          name: {route}\n");
    }
    if gateways > 2 {
        let _ = write!(text, "        gateway:\n          httpRouteName: {name}\n");
    }
    text
}

fn deployment(name: &str, version: &str) -> String {
    let text = format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: prod
  labels:
    app: {name}
spec:
  replicas: 10
  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
    spec:
      containers:
      - name: main
        image: registry.example.com/{name}:{version}
        ports:
        - name: http
          containerPort: 8080
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 256Mi
        readinessProbe:
          httpGet:
            path: /ready
            port: http
          periodSeconds: 5
        env:
"
    );
    filled(text, |number| {
        format!("        - name: OPTION_{number:02}\n          value: the value of option {number:02} of this application\n")
    })
}

fn service(name: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: Service
metadata:
  name: {name}
  namespace: prod
spec:
  selector:
    app: {name}
  ports:
  - name: http
    port: 80
    targetPort: http
"
    )
}

fn virtual_service(name: &str) -> String {
    let service = name.trim_end_matches("-inner");
    let route = format!("    route:\n    - destination:\n        host: {service}\n        port:\n          number: 80\n");
    let text = format!(
        "\
apiVersion: networking.istio.io/v1beta1
kind: VirtualService
metadata:
  name: {name}
  namespace: prod
spec:
  hosts:
  - {name}.example.com
  gateways:
  - istio-ingress/public
  http:
"
    );
    let mut text = filled_to(text, LENGTH - route.len() - 32, |number| {
        format!("  - name: path-{number:02}\n    match:\n    - uri:\n        prefix: /area/{number:02}/\n    timeout: 10s\n{route}")
    });
    let _ = write!(text, "  - name: default\n{route}");
    text
}

fn http_route(name: &str) -> String {
    let text = format!(
        "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {name}
  namespace: prod
spec:
  parentRefs:
  - name: public
    namespace: ingress
  hostnames:
  - {name}.example.com
  rules:
"
    );
    // Sixteen rules are the most that the API server takes; canary rules need room too.
    let mut text = text;
    for number in 0..7 {
        let _ = write!(
            text,
            "  - matches:\n    - path:\n        type: PathPrefix\n        value: /area/{number:02}\n      headers:\n      - name: x-area-of-the-application\n        value: number-{number:02}\n    backendRefs:\n    - name: {name}\n      port: 80\n"
        );
    }
    text
}

/// A file that is YAML of the cluster and that no rollout needs.
fn unrelated(number: usize) -> String {
    let name = format!("setting-{number:05}");
    if number.is_multiple_of(3) {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: platform\ndata:\n");
        return filled(text, |line| format!("  key.{line:03}: \"the value of key {line:03}, which says nothing\"\n"));
    }
    if number % 3 == 1 {
        return deployment(&name, "7.1");
    }
    let text = format!(
        "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: {name}\n  namespace: platform\nspec:\n  groups:\n  - name: all\n    rules:\n"
    );
    filled(text, |line| {
        format!(
            "    - alert: Alert{line:02}\n      expr: sum(rate(errors_total{{area=\"{number}\"}}[5m])) > {line}\n      for: 10m\n      labels: {{severity: page}}\n"
        )
    })
}

fn filled(text: String, line: impl Fn(usize) -> String) -> String {
    filled_to(text, LENGTH, line)
}

fn filled_to(mut text: String, length: usize, line: impl Fn(usize) -> String) -> String {
    for number in 0.. {
        let next = line(number);
        if text.len() + next.len() > length {
            break;
        }
        text.push_str(&next);
    }
    text
}
