import CCurl
import Curl
import Glibc

/// Connections to an object store, for one call at a time: libcurl, which also signs (AWS Signature Version 4).
///
/// One thread at a time uses it: `S3Client` hands it out.
final class S3Handle: @unchecked Sendable {
    // @unchecked: see above.
    /// Of a document; more ends the call.
    private static let documentBytes = 8 << 20
    private static let connectMilliseconds = 5_000
    /// A call ends when less than a byte a second was transferred for so long.
    private static let silenceSeconds = 30
    /// Also ends one that takes longer than this and its bytes at this rate.
    private static let baseSeconds: Int64 = 120
    private static let bytesPerSecond: Int64 = 65_536

    private let handle = CurlHandle()
    private let settings: S3Settings
    private var call = S3Call(method: .get)
    private var response = S3Response()
    /// How much of the body was sent.
    private var sent: Int64 = 0
    private var failure: FileError?

    init(_ settings: S3Settings) { self.settings = settings }

    private var curl: UnsafeMutableRawPointer { handle.curl }

    /// - Throws: if there was no whole response.
    func perform(_ call: S3Call) throws(FileError) -> S3Response {
        self.call = call
        (response, sent, failure) = (S3Response(), 0, nil)
        handle.begin(authorities: settings.authorities)
        setConnection()
        setRequest()
        let headers = setHeaders()
        defer { curl_slist_free_all(headers) }
        let result = curl_easy_perform(curl)
        // It must not keep a file open.
        defer { self.call = S3Call(method: .get) }
        if let failure { throw failure }
        guard result == CURLE_OK else {
            throw FileError(server: "object store", Self.code(result), String(cString: curl_easy_strerror(result)))
        }
        response.status = handle.status
        return response
    }

    private static func code(_ result: CURLcode) -> CInt {
        switch result {
        case CURLE_OPERATION_TIMEDOUT: ETIMEDOUT
        case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST: ECONNREFUSED
        default: EIO
        }
    }

    private func setConnection() {
        parley_curl_set_number(curl, CURLOPT_CONNECTTIMEOUT_MS, Self.connectMilliseconds)
        parley_curl_set_number(curl, CURLOPT_LOW_SPEED_LIMIT, 1)
        parley_curl_set_number(curl, CURLOPT_LOW_SPEED_TIME, Self.silenceSeconds)
        parley_curl_set_number(curl, CURLOPT_TIMEOUT, Int(Self.baseSeconds + call.bytes / Self.bytesPerSecond))
        parley_curl_set_text(curl, CURLOPT_AWS_SIGV4, "aws:amz:\(settings.region):s3")
        parley_curl_set_text(curl, CURLOPT_USERNAME, settings.key.name)
        parley_curl_set_text(curl, CURLOPT_PASSWORD, settings.key.secret)
    }

    private func setRequest() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        parley_curl_set_text(curl, CURLOPT_URL, settings.address(of: call.key) + call.queryText)
        parley_curl_set_pointer(curl, CURLOPT_WRITEDATA, this)
        parley_curl_set_bytes(curl, CURLOPT_WRITEFUNCTION) { S3Handle.of($3).receive($0, $1 * $2) }
        parley_curl_set_pointer(curl, CURLOPT_HEADERDATA, this)
        parley_curl_set_bytes(curl, CURLOPT_HEADERFUNCTION) { S3Handle.of($3).receiveHeader($0, $1 * $2) }
        if call.method == .post {
            let document = if case .document(let text) = call.body { text } else { "" }
            parley_curl_set_text(curl, CURLOPT_COPYPOSTFIELDS, document)
        }
        if case .part(_, _, let count, _) = call.body { setUpload(this, count) }
        if case .copy = call.body { setUpload(this, 0) }
        if call.method == .delete { parley_curl_set_text(curl, CURLOPT_CUSTOMREQUEST, "DELETE") }
    }

    private func setUpload(_ this: UnsafeMutableRawPointer, _ count: Int64) {
        parley_curl_set_number(curl, CURLOPT_UPLOAD, 1)
        parley_curl_set_size(curl, CURLOPT_INFILESIZE_LARGE, curl_off_t(count))
        parley_curl_set_pointer(curl, CURLOPT_READDATA, this)
        parley_curl_set_bytes(curl, CURLOPT_READFUNCTION) { S3Handle.of($3).send($0, $1 * $2) }
        // A connection that was kept may turn out to be closed: then it begins again.
        parley_curl_set_pointer(curl, CURLOPT_SEEKDATA, this)
        parley_curl_set_seek(curl) { this, offset, _ in
            S3Handle.of(this).sent = Int64(offset)
            return CURL_SEEKFUNC_OK
        }
    }

    /// The SHA-256 of the body is a part of what is signed.
    private func setHeaders() -> UnsafeMutablePointer<curl_slist>? {
        var lines: [String] = []
        switch call.body {
        case .none: lines.append("x-amz-content-sha256: \(FileDigests(of: "").sha256)")
        case .copy(let key, _):
            lines.append("x-amz-content-sha256: \(FileDigests(of: "").sha256)")
            lines.append("x-amz-copy-source: /\(settings.bucket)/\(settings.prefix)\(key)")
        case .document(let text):
            lines.append("x-amz-content-sha256: \(FileDigests(of: text).sha256)")
            lines.append("Content-Type: application/xml")
        case .part(_, _, _, let digests):
            lines.append("x-amz-content-sha256: \(digests.sha256)")
            lines.append("Content-MD5: \(digests.md5)")
            lines.append("Content-Type: application/octet-stream")
        }
        if let range = call.range { lines.append("Range: bytes=\(range.lowerBound)-\(range.upperBound)") }
        let list = lines.reduce(nil as UnsafeMutablePointer<curl_slist>?) { curl_slist_append($0, $1) }
        parley_curl_set_pointer(curl, CURLOPT_HTTPHEADER, list)
        return list
    }

    // MARK: Called by libcurl

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> S3Handle {
        Unmanaged<S3Handle>.fromOpaque(pointer!).takeUnretainedValue()
    }

    /// - Returns: how much was taken; anything but `count` ends the call.
    private func receive(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
        guard let sink = call.sink, (200..<300).contains(handle.status) else {
            guard response.body.count + count <= Self.documentBytes else { return 0 }
            response.body += bytes
            return count
        }
        // A server that leaves out the range would send all of it.
        if let range = call.range, response.received + Int64(count) > Int64(range.count) { return 0 }
        do throws(FileError) {
            try FileStorage.write(bytes, to: sink, at: response.received)
            response.received += Int64(count)
            return count
        } catch {
            failure = error
            return 0
        }
    }

    private func receiveHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        response.read(
            headerLine: String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self))
        return count
    }

    private func send(_ buffer: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int {
        guard case .part(let file, let offset, let count, _) = call.body else { return 0 }
        guard sent < count else { return 0 }
        let read = pread(file.descriptor, buffer, min(room, Int(count - sent)), off_t(offset + sent))
        guard read > 0 else {
            failure = FileError("read")
            return parley_curl_read_abort
        }
        sent += Int64(read)
        return read
    }
}
