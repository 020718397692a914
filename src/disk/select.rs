//! Which files of a repository can matter at all, told by their paths.

/// Folders of other people's files, of which no release is made.
const VENDORED: [&str; 6] = ["__pycache__", "bower_components", "node_modules", "target", "vendor", "venv"];

/// The configuration, which is read although its name is hidden.
const CONFIGURATION: &str = ".rollout.yaml";

/// Returns whether a file with this path (relative, `/` between the names) is read: a YAML or JSON file or a gateway's
/// script, neither hidden nor vendored. A git-ignored file is not read either, but its path does not tell.
pub fn is_read(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_inside = |wanted: &str| folders.split('/').any(|folder| folder == wanted);
    is_file_read(name, || is_inside("lua_configuration")) && (folders.is_empty() || folders.split('/').all(is_entered))
}

/// Returns whether a folder with this name is looked into.
pub(super) fn is_entered(name: &str) -> bool {
    !name.starts_with('.') && !is_vendored(name)
}

/// Returns whether a folder of this name holds other people's files.
pub(super) fn is_vendored(name: &str) -> bool {
    VENDORED.contains(&name)
}

/// Returns whether a file with this name is read, in a folder that is.
pub(super) fn is_file_read(name: &str, is_script_folder: impl Fn() -> bool) -> bool {
    if name.starts_with('.') {
        return name == CONFIGURATION;
    }
    match name.rsplit_once('.') {
        Some((_, "yaml" | "yml" | "json")) => true,
        Some((_, "lua")) => name == "trafficRouting.lua" || is_script_folder(),
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_scripts_and_the_configuration_are_read() {
        for path in [
            "a.yaml",
            "x/y/b.yml",
            "c.json",
            ".rollout.yaml",
            "chart/Chart.yaml",
            "lua_configuration/group/Kind/trafficRouting.lua",
            "Kind/trafficRouting.lua",
        ] {
            assert!(is_read(path), "{path}");
        }
    }

    #[test]
    fn hidden_vendored_and_other_files_are_not() {
        for path in [
            ".github/workflows/ci.yaml",
            "a/.hidden.yaml",
            "node_modules/x/a.yaml",
            "web/vendor/a.yaml",
            "target/a.json",
            "main.go",
            "nginx.lua",
            "README",
            "yaml",
        ] {
            assert!(!is_read(path), "{path}");
        }
    }
}
