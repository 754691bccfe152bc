import Models

// The panel in which somebody, or a message of theirs, is reported.
extension ChatScreen {
    /// Of a message, and of a member.
    static let reportKey = "!"
    /// Below the reasons.
    static let reportTextRow = 4 + ReportReason.allCases.count

    mutating func press(_ key: Key, in panel: ReportPanel) -> [ChatEffect] {
        var panel = panel
        defer { if case .reporting = focus { focus = .reporting(panel) } }
        switch key {
        case .escape, .tab: leavePanel()
        case .up: panel.move(by: -1)
        case .down: panel.move(by: 1)
        case .enter: return [.report(panel.send())]
        default: _ = panel.text.edit(key)
        }
        return []
    }

    func lines(of panel: ReportPanel) -> [Line] {
        let title =
            panel.message == nil ? " Report \(called(panel.user))" : " Report a message of \(called(panel.user))"
        let seen = panel.message == nil ? "who it is" : "the message as you see it"
        let reasons = ReportReason.allCases.map { reason in
            var line = Line(reason == panel.reason ? "▌" : " ", .own)
            line.append(reason.title, reason == panel.reason ? .bold : .plain)
            return line
        }
        return [
            Line(title, .bar).fitted(to: talkWidth, filling: .bar), Line(),
            Line(" Those who run the service see \(seen). Nobody else learns of it.", .dim),
        ] + reasons + [Line(), fieldLine("Text", panel.text, isActive: true)]
    }
}

extension ReportReason {
    fileprivate var title: String {
        switch self {
        case .spam: "Spam"
        case .harassment: "Harassment or bullying"
        case .violence: "Violence or threats"
        case .sexual: "Sexual content"
        case .selfHarm: "Self-harm"
        case .illegal: "Something illegal"
        case .other: "Something else"
        }
    }
}
