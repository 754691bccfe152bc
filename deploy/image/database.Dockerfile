# PostgreSQL, with the roles and rights of the services.
#
#   docker build -f deploy/image/database.Dockerfile -t parley-database .

ARG DEBIAN_IMAGE=debian:bookworm-slim
FROM ${DEBIAN_IMAGE}
RUN mkdir -p /etc/postgresql-common/createcluster.d \
    && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/parley.conf \
    && apt-get update && apt-get install --yes --no-install-recommends postgresql-15 && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin parley \
    && install -d -m 700 -o 10001 -g 10001 /var/lib/parley
COPY deploy/image/database/serve-database deploy/image/database/grant-access /usr/local/bin/
COPY deploy/image/database/postgresql.conf deploy/image/database/pg_hba.conf deploy/database/ /etc/parley/
USER 10001:10001
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/parley/postgres PGHOST=/run/postgresql
EXPOSE 5432
STOPSIGNAL SIGINT
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 CMD ["psql", "--quiet", "--command=", "parley"]
ENTRYPOINT ["serve-database"]
