import Models
import Reactor

/// The uploads that requests of this process are writing. A later request for one takes it over: a client that lost its
/// connection comes back before this process notices.
@Reactor
final class ActiveUploads {
    private var calls: [MediaID: UploadCall] = [:]
    private var waiting: [MediaID: [UnsafeContinuation<Void, Never>]] = [:]

    var count: Int { calls.count }

    /// Ends the request that writes this upload, and waits until what it has is kept.
    func displace(_ id: MediaID) async {
        while let call = calls[id] {
            await withUnsafeContinuation { continuation in
                waiting[id, default: []].append(continuation)
                call.displace()
            }
        }
    }

    /// Takes an upload over.
    func begin(_ id: MediaID, _ call: UploadCall) async {
        await displace(id)
        calls[id] = call
    }

    func end(_ id: MediaID, _ call: UploadCall) {
        guard calls[id] === call else { return }
        calls[id] = nil
        for continuation in waiting.removeValue(forKey: id) ?? [] { continuation.resume() }
    }

    /// Ends all of them, and waits until what they have is kept.
    func endAll() async {
        for id in Array(calls.keys) { await displace(id) }
    }

    /// Ends those of a user, who is erased.
    func endAll(of user: UserID) async {
        for (id, call) in calls where call.uploader == user { await displace(id) }
    }
}
