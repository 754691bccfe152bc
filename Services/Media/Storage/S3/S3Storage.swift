import Glibc
import Models

/// Objects in a bucket, under the names that `FileStorage` has: `objects/3f/3f0c….17.content`.
///
/// What is made of an upload is first a file of the spool, and then goes to the bucket, before its row names it. An object is
/// there whole or not at all; what was begun in parts and never completed `media collect` finds.
struct S3Storage: ObjectStorage {
    let client: S3Client
    let spool: FileStorage

    private var settings: S3Settings { client.settings }

    var isRemote: Bool { true }
    var description: String { "s3://\(settings.bucket)/\(settings.prefix) at \(settings.endpoint)" }

    func check() throws(FileError) {
        _ = try client.perform(S3Call(method: .get, query: [("list-type", "2"), ("max-keys", "1")]))
    }

    private func key(_ name: FileName) -> String { key(path: name.path) }
    private func key(path: String) -> String { "objects/\(path)" }

    // MARK: Keeping

    func createObject(_ id: MediaID, _ version: Int64, _ part: ObjectPart) throws(FileError) -> OpenFile {
        try OpenFile(spool.staged(FileName(id, version, part)), O_RDWR | O_CREAT | O_EXCL)
    }

    func keepObject(_ id: MediaID, _ version: Int64, _ parts: [ObjectPart: OpenFile]) throws(FileError) {
        for (part, file) in parts { try put(FileName(id, version, part), file) }
        try removeStaged(id, version)
    }

    func keepUpload(_ id: MediaID, as version: Int64) throws(FileError) {
        try put(FileName(id, version, .content), try spool.openComplete(id))
    }

    /// Made by the store itself: the bytes do not come here.
    func copy(_ kept: KeptObject, to id: MediaID) throws(FileError) {
        for part in kept.parts {
            let call = S3Call(
                method: .put, key: key(FileName(id, kept.version, part)),
                body: .copy(of: key(kept.name(part)), count: part == .content ? kept.size : 0))
            let response = try client.send(call)
            if response.isAbsent { throw FileError(server: "object store", ENOENT, "no such object") }
            guard response.isSuccess else { throw S3Client.failure(call, response) }
            // It may fail after it has begun to respond with 200.
            guard XMLElement(response.body)?.name == "CopyObjectResult" else { throw unexpected(response) }
        }
    }

    func put(_ name: FileName, _ file: OpenFile) throws(FileError) {
        let size = try file.size(), key = key(name)
        guard size > settings.partBytes(of: size) else {
            let body = S3Call.Body.part(file, offset: 0, count: size, try FileDigests(file, 0, size))
            _ = try client.perform(S3Call(method: .put, key: key, body: body))
            return
        }
        let upload = try beginUpload(key)
        do throws(FileError) {
            try completeUpload(key, upload, tags: try sendParts(file, size, key, upload))
        } catch {
            // What is left if this fails, too, is removed by `media collect`.
            try? abort(PendingUpload(key: key, id: upload, begunAt: 0))
            throw error
        }
    }

    private func beginUpload(_ key: String) throws(FileError) -> String {
        let response = try client.perform(S3Call(method: .post, key: key, query: [("uploads", "")]))
        guard let id = XMLElement(response.body)?["UploadId"], !id.isEmpty else { throw unexpected(response) }
        return id
    }

    private func sendParts(
        _ file: OpenFile, _ size: Int64, _ key: String, _ upload: String
    ) throws(FileError) -> [String] {
        let step = settings.partBytes(of: size)
        var tags: [String] = []
        for offset in stride(from: 0, to: size, by: Int(step)) {
            let count = min(step, size - offset)
            let response = try client.perform(
                S3Call(
                    method: .put, key: key, query: [("partNumber", "\(tags.count + 1)"), ("uploadId", upload)],
                    body: .part(file, offset: offset, count: count, try FileDigests(file, offset, count))))
            guard let tag = response.tag, !tag.contains(where: { "<>&".contains($0) }) else {
                throw unexpected(response)
            }
            tags.append(tag)
        }
        return tags
    }

    private func completeUpload(_ key: String, _ upload: String, tags: [String]) throws(FileError) {
        let parts = tags.enumerated().map {
            "<Part><PartNumber>\($0.offset + 1)</PartNumber><ETag>\($0.element)</ETag></Part>"
        }
        let document = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        let response = try client.perform(
            S3Call(method: .post, key: key, query: [("uploadId", upload)], body: .document(document)))
        // It may fail after it has begun to respond with 200.
        guard XMLElement(response.body)?.name == "CompleteMultipartUploadResult" else { throw unexpected(response) }
    }

    private func unexpected(_ response: S3Response) -> FileError {
        FileError(server: "object store", EIO, "unexpected response: \(response.explanation)")
    }

    // MARK: Reading

    func openObject(_ name: FileName, at offset: Int64, count: Int64) throws(FileError) -> ObjectWindow {
        let file = try spool.temporaryFile()
        let call = S3Call(method: .get, key: key(name), range: offset...offset + count - 1, sink: file)
        let response = try client.send(call)
        switch response.status {
        case 206: break
        // It is smaller than what was asked for.
        case 200 where offset == 0:
            return ObjectWindow(file: file, start: 0, end: response.received, size: response.received)
        case _ where response.isAbsent: throw FileError(server: "object store", ENOENT, "no such object")
        // Nothing is in it.
        case 416 where offset == 0: return ObjectWindow(file: file, start: 0, end: 0, size: 0)
        default: throw S3Client.failure(call, response)
        }
        guard let size = response.size, response.received == min(count, size - offset) else {
            throw FileError(server: "object store", EIO, "GET: not the range that was asked for")
        }
        return ObjectWindow(file: file, start: offset, end: offset + response.received, size: size)
    }

    func objects(in folder: String) throws(FileError) -> [StoredObject] { try objects(beginning: "\(folder)/") }

    private func objects(beginning path: String) throws(FileError) -> [StoredObject] {
        let start = settings.prefix + key(path: "")
        var found: [StoredObject] = [], token: String?
        repeat {
            let list = try document(
                [("list-type", "2"), ("prefix", start + path)] + (token.map { [("continuation-token", $0)] } ?? []),
                "ListBucketResult")
            for object in list.all("Contents") {
                guard let key = object["Key"], key.hasPrefix(start), let size = object["Size"].flatMap({ Int64($0) })
                else { continue }
                found.append(
                    StoredObject(
                        path: String(key.dropFirst(start.count)), size: size,
                        modifiedAt: Self.seconds(object["LastModified"])))
            }
            token = list["IsTruncated"] == "true" ? list["NextContinuationToken"] : nil
        } while token != nil
        return found
    }

    private func document(
        _ query: [(name: String, value: String)], _ name: String
    ) throws(FileError) -> XMLElement {
        let response = try client.perform(S3Call(method: .get, query: query))
        guard let document = XMLElement(response.body), document.name == name else { throw unexpected(response) }
        return document
    }

    /// What has no readable time is as young as can be, so that nothing removes it.
    private static func seconds(_ time: String?) -> Int64 {
        time.flatMap { Timestamp(rfc3339: $0) }.map { $0.milliseconds / 1000 } ?? .max
    }

    // MARK: Removing

    func removeObject(_ id: MediaID, _ version: Int64) throws(FileError) {
        try removeStaged(id, version)
        for part in ObjectPart.allCases { try remove(key: key(FileName(id, version, part))) }
    }

    /// All versions: also what a process left that died before it noted what it had kept.
    func removeAll(_ id: MediaID, _ version: Int64?) throws(FileError) {
        for object in try objects(beginning: "\(id.description.prefix(2))/\(id).") { try remove(object) }
    }

    private func removeStaged(_ id: MediaID, _ version: Int64) throws(FileError) {
        for part in ObjectPart.allCases {
            guard unlink(spool.staged(FileName(id, version, part))) == 0 || errno == ENOENT else {
                throw FileError("unlink")
            }
        }
    }

    func remove(_ object: StoredObject) throws(FileError) { try remove(key: key(path: object.path)) }

    private func remove(key: String) throws(FileError) { try client.remove(S3Call(method: .delete, key: key)) }

    func address(of object: StoredObject) -> String {
        "s3://\(settings.bucket)/\(settings.prefix)\(key(path: object.path))"
    }

    // MARK: What was begun in parts

    /// An object that was begun in parts and not completed.
    struct PendingUpload {
        /// As in `S3Call`.
        let key: String
        let id: String
        /// In seconds since 1970.
        let begunAt: Int64
    }

    func pendingUploads() throws(FileError) -> [PendingUpload] {
        let start = settings.prefix + key(path: "")
        var found: [PendingUpload] = [], marker: [(name: String, value: String)]? = []
        while let position = marker {
            let list = try document(
                [("uploads", ""), ("prefix", start)] + position, "ListMultipartUploadsResult")
            for upload in list.all("Upload") {
                guard let key = upload["Key"], key.hasPrefix(start), let id = upload["UploadId"] else { continue }
                found.append(
                    PendingUpload(
                        key: String(key.dropFirst(settings.prefix.count)), id: id,
                        begunAt: Self.seconds(upload["Initiated"])))
            }
            marker = list["IsTruncated"] == "true" ? Self.marker(list) : nil
        }
        return found
    }

    private static func marker(_ list: XMLElement) -> [(name: String, value: String)]? {
        guard let key = list["NextKeyMarker"], !key.isEmpty else { return nil }
        return [("key-marker", key), ("upload-id-marker", list["NextUploadIdMarker"] ?? "")]
    }

    func abort(_ upload: PendingUpload) throws(FileError) {
        try client.remove(S3Call(method: .delete, key: upload.key, query: [("uploadId", upload.id)]))
    }
}
