import CLinux
import Glibc

/// Delivers signals as readable events (signalfd(2)), so that their handlers run as ordinary code on the reactor.
final class SignalSource: DescriptorHandler, @unchecked Sendable {
    // @unchecked: used only on the reactor's thread; created on another.
    private var mask = sigset_t()
    private var descriptor: CInt = -1
    private var bodies: [UInt32: @Reactor () -> Void] = [:]

    nonisolated init() { sigemptyset(&mask) }

    @Reactor func add(_ signal: CInt, _ body: @escaping @Reactor () -> Void) {
        bodies[UInt32(signal)] = body
        sigaddset(&mask, signal)
        pthread_sigmask(SIG_BLOCK, &mask, nil)
        let isNew = descriptor < 0
        descriptor = signalfd(descriptor, &mask, CInt(SFD_NONBLOCK | SFD_CLOEXEC))
        precondition(descriptor >= 0, "signalfd failed")
        if isNew { Reactor.watch(descriptor, for: .read, handler: self) }
    }

    func ready(_: Readiness) {
        var info = signalfd_siginfo()
        while read(descriptor, &info, MemoryLayout<signalfd_siginfo>.size) > 0 { bodies[info.ssi_signo]?() }
    }
}
