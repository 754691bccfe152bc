import CHTTPParser

/// The method of a request. HEAD is `.get`: the server omits the body of the response.
public enum Method: Sendable {
    case get, post, put, patch, delete, options, other

    init(_ number: UInt32) {
        switch http_method(rawValue: number) {
        case HTTP_GET, HTTP_HEAD: self = .get
        case HTTP_POST: self = .post
        case HTTP_PUT: self = .put
        case HTTP_PATCH: self = .patch
        case HTTP_DELETE: self = .delete
        case HTTP_OPTIONS: self = .options
        default: self = .other
        }
    }
}
