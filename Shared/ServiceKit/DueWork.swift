import Reactor

/// Work that becomes due with time. What is due is found in the database, by looks with pauses between them, for as long as
/// the process serves.
@Reactor
public protocol DueWork: AnyObject {
    /// Set by `stop()`; work in several steps looks at it between them.
    var isStopped: Bool { get set }

    /// - Returns: when to look again, from the end of this look.
    func look() async -> Duration
}

extension DueWork {
    /// Goes on until the work is stopped or nobody keeps it.
    public func planLook(after pause: Duration) {
        Reactor.after(pause) { [weak self] in
            guard let self, !isStopped else { return }
            Reactor.spawn { [self] in planLook(after: await look()) }
        }
    }

    /// Begins nothing new because the process is about to end.
    public func stop() { isStopped = true }
}
