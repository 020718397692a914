//! Looks at the shipped gateways again when one of them has changed: they are compiled into the binary.

fn main() {
    println!("cargo::rerun-if-changed=lua_configuration");
}
