# PostgreSQL, with the roles and rights of the services; and the same as a node of a cluster.
#
#   docker build -f deploy/image/database.Dockerfile --target database -t parley-database .
#   deploy/citus && docker build -f deploy/image/database.Dockerfile --target node -t parley-node .

ARG DEBIAN_IMAGE=debian:bookworm-slim
FROM ${DEBIAN_IMAGE} AS database
RUN mkdir -p /etc/postgresql-common/createcluster.d \
    && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/parley.conf \
    && apt-get update && apt-get install --yes --no-install-recommends postgresql-15 && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin parley \
    && install -d -m 700 -o 10001 -g 10001 /var/lib/parley
COPY deploy/image/database/serve-database deploy/image/database/join-nodes deploy/image/database/grant-access /usr/local/bin/
COPY deploy/image/database/*.conf deploy/database/ /etc/parley/
USER 10001:10001
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/parley/postgres PGHOST=/run/postgresql
EXPOSE 5432
STOPSIGNAL SIGINT
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 CMD ["psql", "--quiet", "--command=", "parley"]
ENTRYPOINT ["serve-database"]

# With the extension Citus: CITUS is a directory of the build context with its files, as deploy/citus makes it.
FROM database AS node
ARG CITUS=.citus
USER 0:0
COPY ${CITUS} /
# Citus's own package loads libcurl, for statistics that it would send.
RUN if ldd /usr/lib/postgresql/15/lib/citus.so | grep --quiet 'libcurl.*not found'; then \
        apt-get update && apt-get install --yes --no-install-recommends libcurl4 && rm -rf /var/lib/apt/lists/*; \
    fi
USER 10001:10001
# Files for an older or a later PostgreSQL than this one are not loaded, and are noticed here.
RUN initdb --pgdata=/tmp/tried --auth=reject >/dev/null \
    && postgres --single -c shared_preload_libraries=citus -D /tmp/tried postgres </dev/null >/dev/null && rm -r /tmp/tried
# Over the network, where nobody is answered while serve-database prepares the node.
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 CMD ["pg_isready", "--quiet", "--host=127.0.0.1"]
