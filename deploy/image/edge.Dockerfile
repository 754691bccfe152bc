# haproxy: TLS, limits by address, and the services behind one address.
#
#   docker build -f deploy/image/edge.Dockerfile -t parley-edge .

ARG DEBIAN_IMAGE=debian:bookworm-slim
FROM ${DEBIAN_IMAGE}
RUN apt-get update && apt-get install --yes --no-install-recommends haproxy && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin parley
COPY deploy/image/edge/haproxy.cfg deploy/image/edge/check-edge /etc/parley/
USER 10001:10001
EXPOSE 8443 8080
STOPSIGNAL SIGUSR1
HEALTHCHECK --interval=5s --timeout=4s --start-period=10s --retries=3 CMD ["/etc/parley/check-edge"]
ENTRYPOINT ["haproxy", "-W", "-db", "-f", "/etc/parley/haproxy.cfg"]
