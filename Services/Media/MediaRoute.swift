import Bytes
import Edge
import Models
import ServiceKit

/// The calls of the client contract that media serves.
enum MediaCall: CaseIterable {
    case options, create, offset, append, terminate, object, content, thumbnail, sign

    /// Whether it is one of tus, whose version the client names.
    var isTus: Bool {
        switch self {
        case .create, .offset, .append, .terminate: true
        default: false
        }
    }

    /// Whether a user may make it whom an administrator has suspended to reading only.
    var isOpenToReaders: Bool {
        switch self {
        case .create, .append: false
        case .options, .offset, .terminate, .object, .content, .thumbnail, .sign: true
        }
    }
}

/// The call that a request is for.
struct MediaRoute {
    enum Result {
        case route(MediaRoute)
        case notFound
        case methodNotAllowed(allowed: StaticString)
    }

    let call: MediaCall
    private let text: UnsafeRawBufferPointer

    /// The file in the path. What is no id is as unknown as one that does not exist.
    func media() throws(Reply) -> MediaID {
        guard let uuid = UUIDBytes(text: text), uuid.isStandardVariant, uuid.version == 4 else { throw .notFound }
        return MediaID(uuid)
    }

    /// - Parameter override: the value of `X-HTTP-Method-Override`, by which clients of tus name a method that something
    ///   on the way does not let through.
    static func find(
        _ method: Method, isHead: Bool, override: UnsafeRawBufferPointer?, _ path: UnsafeRawBufferPointer
    ) -> Result {
        var segments = RequestTarget(path).segments
        guard segments.next()?.isEqual(to: "v1") == true, segments.next()?.isEqual(to: "media") == true else {
            return .notFound
        }
        let (method, isHead) = effective(method, isHead: isHead, override)
        guard let id = segments.next() else { return collection(method) }
        guard let detail = segments.next() else { return object(method, isHead: isHead, id) }
        guard segments.next() == nil else { return .notFound }
        return self.detail(method, id, detail)
    }

    private static func effective(
        _ method: Method, isHead: Bool, _ override: UnsafeRawBufferPointer?
    ) -> (Method, isHead: Bool) {
        guard method == .post, let override else { return (method, isHead) }
        if override.isEqual(to: "PATCH") { return (.patch, false) }
        if override.isEqual(to: "DELETE") { return (.delete, false) }
        // A HEAD, whose response has no body anyway.
        return override.isEqual(to: "HEAD") ? (.get, true) : (method, isHead)
    }

    private static func collection(_ method: Method) -> Result {
        switch method {
        case .post: .route(MediaRoute(.create))
        case .options: .route(MediaRoute(.options))
        default: .methodNotAllowed(allowed: "OPTIONS, POST")
        }
    }

    private static func object(_ method: Method, isHead: Bool, _ id: UnsafeRawBufferPointer) -> Result {
        switch method {
        case .get: .route(MediaRoute(isHead ? .offset : .object, id))
        case .patch: .route(MediaRoute(.append, id))
        case .delete: .route(MediaRoute(.terminate, id))
        case .options: .route(MediaRoute(.options, id))
        default: .methodNotAllowed(allowed: "DELETE, GET, HEAD, OPTIONS, PATCH")
        }
    }

    private static func detail(
        _ method: Method, _ id: UnsafeRawBufferPointer, _ detail: UnsafeRawBufferPointer
    ) -> Result {
        func get(_ call: MediaCall) -> Result {
            method == .get ? .route(MediaRoute(call, id)) : .methodNotAllowed(allowed: "GET, HEAD")
        }
        if detail.isEqual(to: "content") { return get(.content) }
        if detail.isEqual(to: "thumbnail") { return get(.thumbnail) }
        guard detail.isEqual(to: "url") else { return .notFound }
        return method == .post ? .route(MediaRoute(.sign, id)) : .methodNotAllowed(allowed: "POST")
    }

    private init(_ call: MediaCall, _ text: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)) {
        self.call = call
        self.text = text
    }
}
