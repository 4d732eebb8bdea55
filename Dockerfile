# A gateway in a container: docs/gateway.md says how it is built, started and ended.
FROM rust:1-bookworm AS build
COPY . /src
RUN cargo install --path /src/crates/app/tillerman --locked --root /out

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y ca-certificates git && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/bin/tillerman /usr/local/bin/tillerman
# Uid 1000; what a volume is made from belongs to it, too.
RUN useradd --uid 1000 --create-home --home-dir /srv/ann ann && install -d -o ann -g ann /srv/ann/work /srv/ann/tillerman
USER ann
WORKDIR /srv/ann/work
ENV TILLERMAN_HOME=/srv/ann/tillerman
VOLUME /srv/ann/tillerman
EXPOSE 18800
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["tillerman", "gateway", "status"]
CMD ["tillerman", "gateway", "--host", "0.0.0.0", "--tls-self-signed"]
