import Glibc
import Models
import Reactor

/// Why an upload's bytes were not kept.
enum UploadFailure: Error, Sendable {
    case disk(FileError)
    /// The bytes have another digest than the client says.
    case checksumDiffers
    /// Another request has taken the upload over, or it is gone.
    case takenOver
    case databaseUnavailable
}

/// Writes the body of one request to the file of an upload: takes bytes as they arrive, writes them on `FilePool`, and
/// notes in the database what is certain to be on the disk.
///
/// Two things go on at a time: writing, and behind it bringing what is written to the disk and noting that. A client that
/// is faster than both waits, with at most `roomBytes` here.
@Reactor
final class UploadWriter {
    /// Bytes that wait for being written.
    static let roomBytes = 512 << 10
    /// Bytes that are written before they are brought to the disk: what a client has to send again after a failure.
    private static let stretchBytes: Int64 = 8 << 20

    /// Notes in the database that the file is on the disk up to an offset, with its SHA-256 if that is all of it.
    typealias Note = @Reactor (_ offset: Int64, _ sha256: String?) async -> Result<Void, UploadFailure>

    let size: Int64
    /// Up to where bytes were taken, were written, and are noted.
    private(set) var taken: Int64
    private var written: Int64
    private(set) var noted: Int64
    private(set) var failure: UploadFailure?
    /// Called whenever there is progress.
    var onProgress: @Reactor () -> Void = {}

    private let file: OpenFile
    private let pool: FilePool
    private let note: Note
    /// Of the body. Nothing of it is noted before it is complete and has this digest.
    private let checksum: UploadChecksum?
    private let body: ContentDigest?
    /// Of the whole file, if this request writes all of it.
    private let whole: ContentDigest?
    private var waiting: [[UInt8]] = []
    private var isWriting = false
    private var isNoting = false
    private var isEnding = false
    private var isDiscarding = false

    init(
        _ file: OpenFile, from offset: Int64, to size: Int64, _ checksum: UploadChecksum?, pool: FilePool,
        note: @escaping Note
    ) {
        self.file = file
        self.size = size
        self.pool = pool
        self.note = note
        self.checksum = checksum
        body = checksum.map { ContentDigest($0.algorithm) }
        whole = offset == 0 ? ContentDigest(.sha256) : nil
        (taken, written, noted) = (offset, offset, offset)
    }

    var hasRoom: Bool { taken - written < Int64(Self.roomBytes) }

    /// Whether nothing goes on any more, after `end`.
    var isDone: Bool { isEnding && !isWriting && !isNoting && (failure != nil || isDiscarding || noted == taken) }

    /// - Returns: false for bytes beyond the size of the upload; none of them are taken.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard Int64(bytes.count) <= size - taken else { return false }
        guard failure == nil else { return true }
        waiting.append(Array(bytes))
        taken += Int64(bytes.count)
        advance()
        return true
    }

    /// No more bytes come.
    /// - Parameter isComplete: whether the body has ended, and not only arrived in part.
    func end(isComplete: Bool) {
        guard !isEnding else { return }
        isEnding = true
        // Of a body in part the digest is unknown.
        isDiscarding = checksum != nil && !isComplete
        advance()
    }

    private func advance() {
        startWriting()
        startNoting()
    }

    // MARK: Writing

    private func startWriting() {
        guard !isWriting, !waiting.isEmpty, failure == nil, !isDiscarding else { return }
        isWriting = true
        let pieces = waiting
        waiting = []
        Reactor.spawn { [self] in
            await write(pieces)
            isWriting = false
            advance()
            onProgress()
        }
    }

    private func write(_ pieces: [[UInt8]]) async {
        let file = file, offset = written, digests = [body, whole].compactMap(\.self)
        let result = await pool.run { () -> Result<Int64, FileError> in
            Result { () throws(FileError) in
                try FileStorage.write(pieces, to: file, at: offset)
                for piece in pieces { piece.withUnsafeBytes { bytes in digests.forEach { $0.update(bytes) } } }
                return offset + pieces.reduce(0) { $0 + Int64($1.count) }
            }
        }
        switch result {
        case .success(let end): written = end
        case .failure(let error): fail(.disk(error))
        }
    }

    // MARK: Noting

    private var isToBeNoted: Bool {
        guard failure == nil, !isDiscarding, written > noted else { return false }
        if isEnding { return written == taken }
        return checksum == nil && written - noted >= Self.stretchBytes && written < size
    }

    private func startNoting() {
        guard !isNoting, isToBeNoted else { return }
        isNoting = true
        Reactor.spawn { [self] in
            await noteAll(upTo: written)
            isNoting = false
            advance()
            onProgress()
        }
    }

    private func noteAll(upTo offset: Int64) async {
        let file = file, isWhole = offset == size
        let whole = isWhole ? whole : nil, body = isEnding ? body : nil, expected = checksum?.digest
        let result = await pool.run { () -> Result<String?, UploadFailure> in
            if let body, body.finish() != expected { return .failure(.checksumDiffers) }
            do throws(FileError) {
                try FileStorage.sync(file)
                guard isWhole else { return .success(nil) }
                if let whole { return .success(ContentDigest.hex(whole.finish())) }
                return .success(ContentDigest.hex(try FileStorage.digest(file, count: offset)))
            } catch { return .failure(.disk(error)) }
        }
        switch result {
        case .success(let sha256): await noted(offset, sha256)
        case .failure(let failure): fail(failure)
        }
    }

    private func noted(_ offset: Int64, _ sha256: String?) async {
        switch await note(offset, sha256) {
        case .success: noted = offset
        case .failure(let failure): fail(failure)
        }
    }

    private func fail(_ failure: UploadFailure) {
        if self.failure == nil { self.failure = failure }
        waiting = []
    }
}
