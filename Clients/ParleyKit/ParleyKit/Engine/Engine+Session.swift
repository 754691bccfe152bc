import Models
import ParleyStorage
import ParleySync

/// The tasks of one WebSocket: one that opens it and reads, one that writes frames in order.
struct SessionTasks {
    let number: Int
    /// When to give up opening it; nil once it is open.
    var openBy: Duration?
    fileprivate let reader: Task<Void, Never>
    fileprivate let frames: AsyncStream<FrameFromClient>.Continuation

    func send(_ frame: FrameFromClient) { frames.yield(frame) }
}

extension Engine {
    func openSession() {
        closeSession()
        lastSession += 1
        let number = lastSession
        let (outgoing, frames) = AsyncStream.makeStream(of: FrameFromClient.self)
        let reader = Task { [server] in
            guard let session = try? await server.openSession() else { return self.sessionEnded(number) }
            let writer = Task {
                for await frame in outgoing {
                    do { try await session.send(frame) } catch { return session.close() }
                }
            }
            await withTaskCancellationHandler {
                await self.run(session, number)
            } onCancel: {
                session.close()
            }
            writer.cancel()
            session.close()
        }
        session = SessionTasks(
            number: number, openBy: clock.now + Self.openingPatience, reader: reader, frames: frames)
        scheduleWake()
    }

    private func run(_ session: any ServerSession, _ number: Int) async {
        guard opened(number) else { return }
        var next = Task { try await session.receive() }
        while let frames = try? await next.value {
            guard self.session?.number == number else { return }
            // What comes next is decoded while this is stored.
            next = Task { try await session.receive() }
            for case .welcome(let welcome) in frames {
                try? store?.note(serverTime: welcome.serverTime, at: clock.timestamp)
            }
            // All that has arrived is stored in one transaction.
            handle(frames.map(SyncEvent.frame))
        }
        sessionEnded(number)
    }

    private func opened(_ number: Int) -> Bool {
        guard session?.number == number else { return false }
        session?.openBy = nil
        handle([.opened])
        return true
    }

    func sessionEnded(_ number: Int) {
        guard session?.number == number else { return }
        closeSession()
        handle([.closed])
    }

    func closeSession() {
        session?.frames.finish()
        session?.reader.cancel()
        session = nil
        typing.forgetSent()
    }
}
