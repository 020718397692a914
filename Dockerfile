# syntax=docker/dockerfile:1
# The program alone: one static binary in an empty image. `tests/image/run` builds it in the same way, and tries it alone.
#
#   docker build -t rollout .
#   docker build --build-arg VERSION=0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" -t rollout:0.1.0 .
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# The toolchain is the image's own, and not the one that rust-toolchain.toml would fetch. The target is named so that the flags
# are the program's only, not those of build scripts. What was compiled before is kept beside the layers.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/target,sharing=locked \
    export RUSTUP_TOOLCHAIN="$RUST_VERSION" CARGO_TARGET_DIR=/target \
 && target="$(rustc -vV | sed -n 's/^host: //p')" \
 && RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --profile dist --target "$target" --bin rollout \
 && install -D "/target/$target/dist/rollout" /out/rollout

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="rollout" \
      org.opencontainers.image.description="Progressive delivery as files: renders the manifests of every step of a release, and carries them out" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /out/rollout /rollout
USER 65532:65532
ENTRYPOINT ["/rollout"]
