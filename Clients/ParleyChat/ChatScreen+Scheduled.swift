import Models
import ParleyPresentation
import ParleyStorage

/// What is to be sent at a time: what is being written, if anything is, and what waits already.
struct SchedulePanel: Equatable {
    let talk: ConversationID
    /// Empty: only what waits.
    var text = ""
    var replyTo: MessageID?
    var time = TextEditor()
    var problem: String?
    /// Nil until they are loaded.
    var messages: [ScheduledMessage]?
    var index = 0

    var isWriting: Bool { !text.isEmpty }

    var selected: ScheduledMessage? { messages.flatMap { $0.indices.contains(index) ? $0[index] : nil } }

    mutating func take(_ new: [ScheduledMessage]) {
        let marked = selected?.id
        messages = new
        index = new.firstIndex { $0.id == marked } ?? max(0, min(index, new.count - 1))
    }

    mutating func move(by offset: Int) { index = max(0, min((messages?.count ?? 0) - 1, index + offset)) }
}

extension ChatScreen {
    static let scheduleRow = 2

    mutating func openSchedule() -> [ChatEffect] {
        guard let talk, !isRequest else { return [] }
        if case .edit = talk.mode {
            notice = "Finish the edit first."
            return []
        }
        var panel = SchedulePanel(talk: talk.id)
        let isMember = entry(of: talk.id)?.conversation.isMember ?? true
        if isMember, writingRefusal == nil, talk.editor.text.contains(where: { !$0.isWhitespace }) {
            panel.text = talk.editor.text
            if case .reply(let id, _, _) = talk.mode { panel.replyTo = id }
        }
        focus = .scheduling(panel)
        return [.loadScheduled]
    }

    mutating func take(_ messages: [ScheduledMessage], in id: ConversationID) {
        guard case .scheduling(var panel) = focus, panel.talk == id else { return }
        panel.take(messages)
        focus = .scheduling(panel)
    }

    mutating func press(_ key: Key, in panel: SchedulePanel) -> [ChatEffect] {
        var panel = panel
        var effects: [ChatEffect] = []
        switch key {
        case .escape:
            leavePanel()
            return []
        case .up: panel.move(by: -1)
        case .down: panel.move(by: 1)
        case .enter where panel.isWriting: return schedule(panel)
        case .text("x") where !panel.isWriting: effects = panel.selected.map { [.cancelScheduled($0.id)] } ?? []
        case .text("n") where !panel.isWriting: effects = panel.selected.map { [.sendScheduledNow($0)] } ?? []
        default:
            if panel.isWriting { _ = panel.time.edit(key) }
        }
        panel.problem = nil
        focus = .scheduling(panel)
        return effects
    }

    private mutating func schedule(_ panel: SchedulePanel) -> [ChatEffect] {
        var panel = panel
        guard let time = maker.times.moment(written: panel.time.text, now: now) else {
            panel.problem = "Write +90m, +2h, 18:30, tomorrow 9:00 or 2026-11-29 9:00."
            focus = .scheduling(panel)
            return []
        }
        talk?.editor.replace(with: "")
        talk?.mode = .message
        leavePanel()
        notice = "It will be sent \(maker.times.coming(time, now: now)). Ctrl-S shows what waits."
        return endTyping() + [.schedule(panel.text, at: time, replyTo: panel.replyTo)] + keepDraft()
    }

    func lines(of panel: SchedulePanel) -> [Line] {
        var lines = [Line(" Scheduled messages", .bar).fitted(to: talkWidth, filling: .bar)]
        if panel.isWriting {
            lines += [
                Line(" What you have written is sent then:", .dim), fieldLine("When", panel.time, isActive: true),
                Line(panel.problem.map { " " + $0 } ?? " +90m, +2h, 18:30, tomorrow 9:00 or 2026-11-29 9:00", .dim),
            ]
        }
        lines.append(Line())
        guard let messages = panel.messages else { return lines + [Line(" Loading…", .dim)] }
        if messages.isEmpty { lines.append(Line(" Nothing waits.", .dim)) }
        let room = max(1, (bodyHeight - lines.count) / 2), start = panel.index / room * room
        for (index, message) in messages.enumerated().dropFirst(start).prefix(room) {
            let time = maker.times.coming(message.at, now: now)
            let state = message.failure == nil ? time : "not sent: \(Self.reason(of: message))"
            let isMarked = index == panel.index && !panel.isWriting
            lines.append(Line((isMarked ? " ▸ " : "   ") + state, isMarked ? .bold : .dim))
            lines.append(Line("   " + HarmlessText.line(message.text)))
        }
        return lines
    }

    private static func reason(of message: ScheduledMessage) -> String {
        switch message.failure?.code {
        case .known(.suspended): "an administrator had suspended you"
        case .known(.notReplyable): "what it answers is gone"
        case .known(.forbidden), .known(.notFound): "you might not write here then"
        default: "it was in conflict with what is there"
        }
    }
}
