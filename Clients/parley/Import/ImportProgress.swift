import CommandSupport
import ParleyPresentation
import Reactor

/// Shows on a terminal how far an import is.
@Reactor
final class ImportProgress {
    private unowned let upload: ImportUpload
    private var isStopped = false
    private var lastCount = 0
    private var lastTime = MonotonicTime.now

    private static let interval = Duration.milliseconds(200)

    init(of upload: ImportUpload) {
        self.upload = upload
        show()
    }

    func stop() {
        isStopped = true
        Terminal.replaceLine("")
    }

    private func show() {
        Reactor.after(Self.interval) { [weak self] in
            guard let self, !isStopped else { return }
            Terminal.replaceLine(line)
            show()
        }
    }

    private var line: String {
        let tally = upload.tally
        let now = MonotonicTime.now
        let rate = Double(tally.settled - lastCount) * 1e9 / Double(max(1, (now - lastTime).nanoseconds))
        (lastCount, lastTime) = (tally.settled, now)
        let refused = tally.refusals.count == 0 ? "" : "   refused \(grouped(tally.refusals.count))"
        let state = upload.trouble.map { "waiting: \(HarmlessText.line($0, limit: 80))" } ?? "\(grouped(Int(rate)))/s"
        return "\(ProgressBar.text(tally.share)) \(grouped(tally.settled)) records\(refused)   \(state)"
    }
}
