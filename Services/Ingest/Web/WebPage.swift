import Bytes
import CCrypto
import Edge
import Reactor

/// The web client as ingest serves it: every response is made once, at start, so that serving one is a lookup and a copy.
struct WebPage: Sendable {
    private let resources: [WebResource]

    /// Nil where the page is not served, or not in this executable.
    init?(_ configuration: WebConfiguration, files: [WebFile] = WebBundle.files) {
        guard configuration.isServed, !files.isEmpty else { return nil }
        let policy = SecurityPolicy(configuration)
        resources = files.map { WebResource(policy.completed($0), policy) }
    }

    func resource(at path: UnsafeRawBufferPointer) -> WebResource? {
        resources.first { path.isEqual(to: $0.path) }
    }
}

/// A file with the header fields of its responses.
struct WebResource: Sendable {
    let path: StaticString
    private let type: ContentType
    private let plain: Representation
    private let gzip: Representation?

    private struct Representation: Sendable {
        let bytes: [UInt8]
        let tag: String
        let headers: [ResponseHeader]
    }

    fileprivate init(_ file: WebFile, _ policy: SecurityPolicy) {
        path = file.path
        type = ContentType(file.type)
        plain = Self.representation(file.content, headers: policy.headers)
        let encoding = [ResponseHeader("Content-Encoding", "gzip")]
        gzip = file.gzip.isEmpty ? nil : Self.representation(file.gzip, headers: encoding + policy.headers)
    }

    private static func representation(_ bytes: [UInt8], headers: [ResponseHeader]) -> Representation {
        let tag = strongTag(bytes)
        // Always asked for anew, as 304 in most cases: names without a version let a page embed `/parley.js` for good, and
        // a new version of the service is a new version of the page at once.
        let caching = [
            ResponseHeader("ETag", tag), ResponseHeader("Cache-Control", "no-cache"),
            ResponseHeader("Vary", "Accept-Encoding"),
        ]
        return Representation(bytes: bytes, tag: tag, headers: caching + headers)
    }

    /// Of the bytes that are sent, so the two encodings have different ones (RFC 9110, 8.8.3.3).
    private static func strongTag(_ bytes: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(bytes, bytes.count, &digest)
        let hex = digest.prefix(16).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }
        return "\"\(hex.joined())\""
    }

    /// The status of the response.
    @Reactor func respond(to request: Request, _ responder: Responder) -> Int {
        let chosen = accepts(request[.acceptEncoding]) ? gzip ?? plain : plain
        if names(request[.ifNoneMatch], chosen.tag) {
            responder.respond(304, headers: chosen.headers)
            return 304
        }
        chosen.bytes.withUnsafeBytes { responder.respond(200, type, headers: chosen.headers, body: $0) }
        return 200
    }

    /// Whether the value of `If-None-Match` has the tag, weak or strong (RFC 9110, 13.1.2).
    private func names(_ field: UnsafeRawBufferPointer?, _ tag: String) -> Bool {
        guard let field else { return false }
        let value = String(decoding: field, as: UTF8.self)
        return value == "*" || value.contains(tag)
    }

    /// Whether the value of `Accept-Encoding` takes gzip (RFC 9110, 12.5.3).
    private func accepts(_ field: UnsafeRawBufferPointer?) -> Bool {
        guard let field else { return false }
        return String(decoding: field, as: UTF8.self).lowercased().split(separator: ",").contains { coding in
            let parts = coding.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard parts.first == "gzip" || parts.first == "x-gzip" else { return false }
            return !parts.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
        }
    }
}

/// What the page may do: nothing but run its own script, talk to its own services and show its own styles, and be
/// embedded by the origins that the deployment names.
private struct SecurityPolicy {
    let headers: [ResponseHeader]
    private let text: String
    private let origins: [String]

    init(_ configuration: WebConfiguration) {
        origins = configuration.origins
        let connections = ["'self'", configuration.socketOrigin].compactMap(\.self).joined(separator: " ")
        let ancestors = origins.isEmpty ? "'none'" : origins.joined(separator: " ")
        let directives = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:",
            "media-src 'self' blob:", "connect-src \(connections)", "worker-src 'self'", "manifest-src 'self'",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors \(ancestors)",
            "require-trusted-types-for 'script'", "trusted-types parley",
        ]
        text = directives.joined(separator: "; ")
        headers = [
            ResponseHeader("Content-Security-Policy", text),
            ResponseHeader("X-Content-Type-Options", "nosniff"),
            ResponseHeader("Referrer-Policy", "no-referrer"),
            ResponseHeader("Permissions-Policy", "camera=(), geolocation=(), microphone=(self)"),
        ]
    }

    /// A file with what this deployment decides.
    func completed(_ file: WebFile) -> WebFile {
        switch file.path.description {
        case "/": file.replacing(content: document(String(decoding: file.content, as: UTF8.self)))
        // It keeps the page with the policy. Browsers compare it byte by byte: with another policy it is a new worker,
        // which keeps the page anew.
        case "/service-worker.js":
            file.replacing(content: String(decoding: file.content, as: UTF8.self) + "// \(text)\n")
        default: file
        }
    }

    /// The page with the origins it may be given tokens by, where its script finds them.
    private func document(_ page: String) -> String {
        let list = origins.joined(separator: " ")
        return page.replacing(
            #"name="parley-origins" content="""#, with: #"name="parley-origins" content="\#(list)""#)
    }
}

extension WebFile {
    fileprivate func replacing(content: String) -> WebFile {
        WebFile(path: path, type: type, content: Array(content.utf8), gzip: [])
    }
}
