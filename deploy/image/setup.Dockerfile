# Creates keys, passwords and certificates in volumes, once.
#
#   docker build -f deploy/image/setup.Dockerfile -t parley-setup .

ARG DEBIAN_IMAGE=debian:bookworm-slim
FROM ${DEBIAN_IMAGE}
RUN apt-get update && apt-get install --yes --no-install-recommends openssl && rm -rf /var/lib/apt/lists/*
COPY deploy/keys deploy/services deploy/image/make-secrets /usr/local/bin/
# A new volume takes over the owner of the directory that it is mounted on.
RUN for name in $(awk '!/^#/ { print $1 }' /usr/local/bin/services) database nodes edge parley; do \
        install -d -m 700 -o 10001 -g 10001 "/secrets/$name"; \
    done
USER 10001:10001
ENTRYPOINT ["make-secrets", "/secrets"]
