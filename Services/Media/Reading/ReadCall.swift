import Bytes
import CLinux
import Edge
import Glibc
import Models
import Reactor

/// One request for the content or a thumbnail of a file: sends it from the disk's cache to the socket, part by part.
///
/// A part that is not in the cache is read by `FilePool` first, so that no disk keeps the reactor waiting. Of an object that
/// is elsewhere one window at a time is on this machine, and the next is asked for when the client has read it.
@Reactor
final class ReadCall: StreamHandler {
    /// What the head of the request asks for.
    struct Head: Sendable {
        let id: MediaID
        let part: ObjectPart
        /// Nil for the bearer of a signed address.
        let reader: UserID?
        let isHead: Bool
        let ifNoneMatch: [UInt8]?
        let ifRange: [UInt8]?
        let range: [UInt8]?
    }

    private static let partBytes: Int64 = 512 << 10
    /// A file up to this size is sent with its head, in one call.
    private nonisolated static let smallBytes: Int64 = 64 << 10

    private unowned let media: MediaService
    private let head: Head
    private let account: MediaAccount?
    private var stream: RequestStream?
    private var name: FileName?
    private var window: ObjectWindow?
    private var offset: Int64 = 0
    private var end: Int64 = 0
    private var isReading = false

    init(_ media: MediaService, _ account: MediaAccount?, _ head: Head) {
        self.media = media
        self.account = account
        self.head = head
        if let account { account.begin() } else { media.accounts.begin() }
    }

    func opened(_ stream: RequestStream) {
        self.stream = stream
        Reactor.spawn { [self] in
            do throws(Reply) { try await begin() } catch { respond(error) }
        }
    }

    func received(_: UnsafeRawBufferPointer) {}
    func bodyEnded() {}
    func drained() { advance() }

    func closed() {
        stream = nil
        // What is being read holds its file itself.
        window = nil
        if let account { account.end() } else { media.accounts.end() }
    }

    private func respond(_ reply: Reply) {
        guard let stream else { return }
        media.metrics.responded(reply.status)
        reply.send(to: stream)
    }

    // MARK: Beginning

    private func begin() async throws(Reply) {
        let object =
            if let reader = head.reader {
                try await media.readers.object(head.id, for: reader)
            } else { try await media.readers.object(signed: head.id) }
        guard object.state == .ready, let version = object.version, let sha256 = object.sha256 else {
            guard object.state != .refused else { throw Reply.notFound }
            throw Reply(Problem(.mediaNotReady, "the file is not ready yet"))
        }
        let tag = EntityTag(sha256, head.part)
        let headers = headers(of: object, tag)
        if head.ifNoneMatch.names(tag) { throw Reply(304, headers: headers) }
        try await send(object, version, tag, headers)
    }

    private func send(
        _ object: MediaObject, _ version: Int64, _ tag: EntityTag, _ headers: [ResponseHeader]
    ) async throws(Reply) {
        let objects = media.objects, name = FileName(object.id, version, head.part), isHead = head.isHead
        let (offset, wanted) = head.probableRange(object, tag), count = isHead ? 1 : wanted
        let result = await media.objectPool.run { () -> Result<(ObjectWindow, [UInt8]?), FileError> in
            Result { () throws(FileError) in
                let window = try objects.openObject(name, at: offset, count: count)
                let isSmall = window.start == 0 && window.end == window.size && window.size <= Self.smallBytes
                return (window, isSmall ? try FileStorage.read(window.file, count: Int(window.size)) : nil)
            }
        }
        switch result {
        case .success(let (window, content)):
            self.name = name
            begin(window, content, object, tag, headers)
        // There is no such thumbnail, or the file was removed a moment ago.
        case .failure(let error) where error.isMissing: throw .notFound
        case .failure(let error): throw media.failed(error)
        }
    }

    private func begin(
        _ window: ObjectWindow, _ content: [UInt8]?, _ object: MediaObject, _ tag: EntityTag,
        _ headers: [ResponseHeader]
    ) {
        let size = window.size
        let type = head.part == .content ? MediaType.served(object.type) ?? MediaType.bytes : MediaType.thumbnail
        switch head.range(of: size, tag) {
        case .unsatisfiable:
            let range = ResponseHeader("Content-Range", "bytes */\(size)")
            respond(Reply(Problem(.invalid, "Range: nothing of the file is in it"), status: 416, headers: [range]))
        case .whole: begin(200, type, headers, window, 0, size, content)
        case .part(let offset, let count):
            let range = ResponseHeader("Content-Range", "bytes \(offset)-\(offset + count - 1)/\(size)")
            begin(206, type, headers + [range], window, offset, count, content)
        }
    }

    private func begin(
        _ status: Int, _ type: ContentType, _ headers: [ResponseHeader], _ window: ObjectWindow,
        _ offset: Int64, _ count: Int64, _ content: [UInt8]?
    ) {
        guard let stream else { return }
        media.metrics.responded(status)
        if !head.isHead { media.metrics.sent(Int(count)) }
        stream.begin(status, type, headers: headers, length: count)
        if let content {
            content.withUnsafeBytes { bytes in
                stream.write(UnsafeRawBufferPointer(rebasing: bytes[Int(offset)..<Int(offset + count)]))
            }
            return stream.end()
        }
        guard !head.isHead else { return stream.end() }
        self.window = window
        self.offset = offset
        end = offset + count
        advance()
    }

    private func headers(of object: MediaObject, _ tag: EntityTag) -> [ResponseHeader] {
        let isShown = head.part != .content || MediaType.served(object.type) != nil
        return [
            ResponseHeader("ETag", tag.text), ResponseHeader("Accept-Ranges", "bytes"),
            // What may not be read any more is not kept for long, and never where others might get it.
            ResponseHeader("Cache-Control", "private, max-age=300"), ResponseHeader("Vary", "Authorization"),
            ResponseHeader("Content-Disposition", disposition(of: object, isShown: isShown)),
            ResponseHeader("X-Content-Type-Options", "nosniff"),
            ResponseHeader("Content-Security-Policy", "default-src 'none'; sandbox"),
            ResponseHeader("Referrer-Policy", "no-referrer"),
        ]
    }

    /// RFC 6266, with the name as in RFC 8187.
    private func disposition(of object: MediaObject, isShown: Bool) -> String {
        let kind = isShown ? "inline" : "attachment"
        return head.part == .content ? "\(kind); filename*=UTF-8''\(percentEncoded(object.name))" : kind
    }

    // MARK: Sending

    private func advance() {
        guard let stream, let window, !isReading, !stream.isCongested else { return }
        guard offset < end else { return stream.end() }
        guard window.contains(offset) else { return open() }
        let position = offset - window.start, count = min(Self.partBytes, min(end, window.end) - offset)
        guard isCached(window.file, position, count) else { return load(window.file, position, count) }
        write(window.file, position, count)
    }

    /// Asks for the next window. What fails here fails in the middle of a response, which the client sees end.
    private func open() {
        guard let name else { return }
        isReading = true
        // It was sent: a client that is slow holds one at a time.
        window = nil
        let objects = media.objects, offset = offset, count = min(ObjectWindow.furtherBytes, end - offset)
        Reactor.spawn { [self] in
            let result = await media.objectPool.run {
                Result { () throws(FileError) in try objects.openObject(name, at: offset, count: count) }
            }
            isReading = false
            guard let stream else { return }
            switch result {
            case .success(let window) where window.contains(offset):
                self.window = window
                advance()
            case .success: stream.abandon()
            case .failure(let error):
                _ = media.failed(error)
                stream.abandon()
            }
        }
    }

    private func isCached(_ file: OpenFile, _ position: Int64, _ count: Int64) -> Bool {
        linux_is_cached(file.descriptor, off_t(position)) == 1
            && linux_is_cached(file.descriptor, off_t(position + count - 1)) == 1
    }

    private func load(_ file: OpenFile, _ position: Int64, _ count: Int64) {
        isReading = true
        Reactor.spawn { [self] in
            _ = await media.pool.run { FileStorage.load(file, at: position, count: Int(count)) }
            isReading = false
            write(file, position, count)
        }
    }

    private func write(_ file: OpenFile, _ position: Int64, _ count: Int64) {
        stream?.write(fileAt: position, count: count, of: file.descriptor)
        offset += count
    }
}

extension ReadCall.Head {
    /// Where the response begins, and how much of it is asked for at first: a few bytes cost an object store a few. The
    /// size is what the row says; of a thumbnail it says none.
    fileprivate func probableRange(_ object: MediaObject, _ tag: EntityTag) -> (offset: Int64, count: Int64) {
        guard part == .content, case .part(let offset, let count) = range(of: object.size, tag) else {
            return (0, ObjectWindow.firstBytes)
        }
        return (offset, min(count, ObjectWindow.firstBytes))
    }

    fileprivate func range(of size: Int64, _ tag: EntityTag) -> ByteRange {
        let isAllowed = ifRange.map { $0.withUnsafeBytes { tag.allowsRange($0) } } ?? true
        guard isAllowed, let range else { return .whole }
        return range.withUnsafeBytes { ByteRange($0, of: size) }
    }
}

extension [UInt8]? {
    fileprivate func names(_ tag: EntityTag) -> Bool {
        map { $0.withUnsafeBytes { tag.isNamed(in: $0) } } ?? false
    }
}

/// Percent-encodes all but the letters, digits and marks that RFC 8187 has in a value.
func percentEncoded(_ text: String) -> String {
    var encoded: [UInt8] = []
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            encoded.append(byte)
        default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
    return String(decoding: encoded, as: UTF8.self)
}
