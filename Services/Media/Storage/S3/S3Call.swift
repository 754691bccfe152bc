import ServiceKit

/// One request to an object store.
struct S3Call: Sendable {
    enum Method: String, Sendable { case get = "GET", put = "PUT", post = "POST", delete = "DELETE" }

    enum Body: Sendable {
        case none
        case document(String)
        case part(OpenFile, offset: Int64, count: Int64, FileDigests)
        /// No bytes: the store takes those of another object.
        case copy(of: String, count: Int64)
    }

    var method: Method
    /// Empty: the bucket itself.
    var key = ""
    /// In the order of the names, which the signature is made of.
    var query: [(name: String, value: String)] = []
    /// The bytes that are wanted.
    var range: ClosedRange<Int64>?
    var body = Body.none
    /// Where the content of a successful response goes; nil: into the response.
    var sink: OpenFile?

    /// That are to be sent, received or copied.
    var bytes: Int64 {
        switch body {
        case .part(_, _, let count, _), .copy(_, let count): count
        case .none, .document: Int64(range?.count ?? 0)
        }
    }

    /// `?list-type=2&prefix=objects%2F3f`. What has no value is followed by `=`, as in the text that is signed.
    var queryText: String {
        guard !query.isEmpty else { return "" }
        return "?"
            + query.sorted { $0.name < $1.name }.map { "\($0.name)=\(percentEncoded($0.value))" }.joined(separator: "&")
    }
}

/// The digests of a part of a file. Stores check one or the other.
struct FileDigests: Sendable {
    let sha256: String
    /// In base64.
    let md5: String

    init(_ file: OpenFile, _ offset: Int64, _ count: Int64) throws(FileError) {
        let sha256 = ContentDigest(.sha256), md5 = ContentDigest(.md5)
        try FileStorage.forEachPiece(of: file, offset, count) {
            sha256.update($0)
            md5.update($0)
        }
        self.init(sha256.finish(), md5.finish())
    }

    init(of text: String) {
        let sha256 = ContentDigest(.sha256), md5 = ContentDigest(.md5)
        Array(text.utf8).withUnsafeBytes {
            sha256.update($0)
            md5.update($0)
        }
        self.init(sha256.finish(), md5.finish())
    }

    private init(_ sha256: [UInt8], _ md5: [UInt8]) {
        self.sha256 = ContentDigest.hex(sha256)
        self.md5 = Base64.encode(md5)
    }
}

/// What came of an `S3Call`.
struct S3Response: Sendable {
    var status = 0
    /// Of a document: an error, a list.
    var body: [UInt8] = []
    /// What went into the sink.
    var received: Int64 = 0
    var tag: String?
    /// The size of the object of which a range was asked for.
    var size: Int64?

    var isSuccess: Bool { (200..<300).contains(status) }

    /// Whether there is no such object, or nothing was begun under the id. That there is no such bucket is another matter:
    /// then nothing is known of the object.
    var isAbsent: Bool { status == 404 && ["NoSuchKey", "NoSuchUpload"].contains(XMLElement(body)?["Code"]) }

    /// Notes a line of the head.
    mutating func read(headerLine line: String) {
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = line[line.index(after: colon)...].drop { $0 == " " }.prefix { !$0.isNewline }
        switch line[..<colon].lowercased() {
        case "etag": tag = String(value)
        // `bytes 0-9/3000000`, `bytes */0`
        case "content-range": size = value.split(separator: "/").last.flatMap { Int64($0) }
        default: break
        }
    }

    /// What an operator is told of an error.
    var explanation: String {
        let error = XMLElement(body)
        let code = error?["Code"].map { " \($0.prefix(100))" } ?? ""
        return "HTTP \(status)\(code)" + (error?["Message"].map { ": \($0.prefix(300))" } ?? "")
    }
}
