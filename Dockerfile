# The program alone: one static binary in an empty image.
#
#   docker build -t rollout .
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# The target is named so that the flags are the program's only, not those of build scripts.
RUN target="$(rustc -vV | sed -n 's/^host: //p')" \
 && RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --profile dist --target "$target" \
 && install -D "target/$target/dist/rollout" /out/rollout

FROM scratch
COPY --from=build /out/rollout /rollout
USER 65532:65532
ENTRYPOINT ["/rollout"]
