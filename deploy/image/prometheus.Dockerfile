# Prometheus, with the alerts.
#
#   docker build -f deploy/image/prometheus.Dockerfile -t parley-prometheus .

ARG DEBIAN_IMAGE=debian:bookworm-slim
FROM ${DEBIAN_IMAGE}
RUN apt-get update && apt-get install --yes --no-install-recommends prometheus && rm -rf /var/lib/apt/lists/* \
    && install -d -o 10001 -g 10001 /var/lib/prometheus
COPY deploy/observability/prometheus.yml deploy/observability/alerts.yml /etc/parley/
USER 10001:10001
EXPOSE 9090
ENTRYPOINT ["prometheus", "--config.file=/etc/parley/prometheus.yml", "--storage.tsdb.path=/var/lib/prometheus", \
    "--storage.tsdb.retention.time=15d"]
