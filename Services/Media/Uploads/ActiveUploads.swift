import Models
import Reactor

/// The uploads that requests of this process are writing. A later request for one takes it over: a client that lost its
/// connection comes back before this process notices.
///
/// They are known by uploader and id, because requests are told apart before the database says whose an upload is: what a
/// user asks of somebody else's upload reaches none of its requests.
@Reactor
final class ActiveUploads {
    private struct Key: Hashable {
        let uploader: UserID
        let id: MediaID
    }

    private var calls: [Key: UploadCall] = [:]
    private var waiting: [Key: [UnsafeContinuation<Void, Never>]] = [:]

    var count: Int { calls.count }

    /// Ends the request of `uploader` that writes this upload, and waits until what it has is kept.
    func displace(_ id: MediaID, of uploader: UserID) async {
        let key = Key(uploader: uploader, id: id)
        while let call = calls[key] {
            await withUnsafeContinuation { continuation in
                waiting[key, default: []].append(continuation)
                call.displace()
            }
        }
    }

    /// Takes an upload over.
    func begin(_ id: MediaID, _ call: UploadCall) async {
        await displace(id, of: call.uploader)
        calls[Key(uploader: call.uploader, id: id)] = call
    }

    func end(_ id: MediaID, _ call: UploadCall) {
        let key = Key(uploader: call.uploader, id: id)
        guard calls[key] === call else { return }
        calls[key] = nil
        for continuation in waiting.removeValue(forKey: key) ?? [] { continuation.resume() }
    }

    /// Ends all of them, and waits until what they have is kept.
    func endAll() async {
        for key in Array(calls.keys) { await displace(key.id, of: key.uploader) }
    }

    /// Ends those of a user, who is erased.
    func endAll(of user: UserID) async {
        for key in calls.keys where key.uploader == user { await displace(key.id, of: user) }
    }
}
