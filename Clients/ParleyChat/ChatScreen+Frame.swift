import Models
import ParleyPresentation
import ParleyStorage
import ParleySync

// The frame of a state.
extension ChatScreen {
    /// All lines of the screen, each as wide as it.
    func frame() -> Frame {
        guard isLargeEnough else { return tooSmall() }
        let list = isListShown ? listLines() : []
        let right = isSplit || !isListShown ? rightLines() : []
        var lines = [topBar()]
        for row in 0..<bodyHeight {
            var line = Line()
            if isListShown { line.append(list[row]) }
            if isSplit { line.append("│", .dim) }
            if !right.isEmpty { line.append(right[row]) }
            lines.append(line)
        }
        lines.append(bottomLine())
        return Frame(lines: lines, cursor: cursor)
    }

    private func tooSmall() -> Frame {
        var lines = [Line("Too small").fitted(to: size.columns)]
        while lines.count < size.rows { lines.append(Line().fitted(to: size.columns)) }
        return Frame(lines: Array(lines.prefix(size.rows)), cursor: nil)
    }

    // MARK: Bars

    private func topBar() -> Line {
        if let banner { return Line(" " + banner, .banner).fitted(to: size.columns, filling: .banner) }
        let left = Line(" Parley · \(called(user))" + (unread > 0 ? " · \(unread) unread" : ""), .bar)
        let right = Line(connection == .online ? "online " : "connecting… ", .bar)
        return Line.between(left, right, width: size.columns, filling: .bar)
    }

    /// What is wrong with the connection.
    private var banner: String? {
        switch connection {
        case .online: nil
        case .connecting, .off: distrust ?? (wasOnline ? Self.offline : nil)
        case .waiting: distrust ?? Self.offline
        case .suspended(let until): suspended(until)
        case .superseded: "Another session of this device took over. Ctrl-R takes it back."
        case .otherUser: "The token is another user's than this copy."
        }
    }

    private func suspended(_ until: Timestamp?) -> String {
        let end = until.map { " until \(maker.times.coming($0, now: now))" } ?? ""
        return "You are suspended\(end). What you write is kept."
    }

    private static let offline = "Offline. What you write is kept, and sent when the server is back."

    private func bottomLine() -> Line {
        if let notice { return Line(" " + notice, .warning).fitted(to: size.columns) }
        return Line(" " + fitted(keys), .dim).fitted(to: size.columns)
    }

    /// Leaves out keys before the last one where there is no room for all: the help has them.
    private func fitted(_ keys: String) -> String {
        let room = size.columns - 2
        guard keys.count > room else { return keys }
        var parts = keys.split(separator: "  ")
        let end = ["F1 more", parts.removeLast()]
        while !parts.isEmpty, (parts + end).joined(separator: "  ").count > room { parts.removeLast() }
        return (parts + end).joined(separator: "  ")
    }

    private var keys: String {
        switch focus {
        case .list:
            folder == .requests
                ? "Enter open  b block  R back  ? help  ^Q quit"
                : "Enter open  n new  / find  p pin  m mute  a archive  u unread  b block  A \(folder == .inbox ? "archive" : "back")  ? help  ^Q quit"
        case .composer where isRequest || writingRefusal != nil: "↑ messages  Tab list  ^G members  F1 help  ^Q quit"
        case .composer: "Enter send  ↑ messages  Tab list  ^T file  ^G details  ^F search  F1 help  ^Q quit"
        case .messages: selectionKeys
        case .tapback, .deletion, .voting: "Esc back"
        case .search(let panel): (panel.pinnedIn == nil ? "type words  " : "") + "↑ ↓ choose  Enter show  Esc back"
        case .beginning: "Tab next field  Enter begin  Esc back"
        case .joining: "y join  Esc back"
        case .help: "any key goes back"
        case .details(let panel): keys(of: panel)
        case .settings(let panel): keys(of: panel)
        case .revisions: "↑ ↓ PgUp PgDn scroll  Esc back"
        case .reporting: "↑ ↓ choose  type what helps  Enter reports  Esc back"
        case .attaching: "Enter sends the file  Esc back"
        case .scheduling(let panel):
            panel.isWriting ? "Enter schedules  Esc back" : "↑ ↓ choose  n send now  x cancel it  Esc back"
        case .saving(let panel): "Enter saves" + (panel.files.count > 1 ? "  Tab next file" : "") + "  Esc back"
        }
    }

    /// Those keys that do something to the selected message.
    private var selectionKeys: String {
        guard let row = talk?.selectedRow else { return "" }
        let named: [(MessageAction, String)] = [
            (.retry, "r send again"), (.discard, "x give up"), (.reply, "r reply"), (.edit, "e edit"),
            (.vote, "o vote"), (.closePoll, "O close"), (.tapback, "t tapback"), (.pin, "P pin"),
            (.unpin, "P take down"), (.deleteForMe, "d delete"),
            (.report, "\(Self.reportKey) report"),
        ]
        var keys = named.filter { refusal(of: $0.0, row) == nil }.map(\.1)
        if row.parent != nil { keys.append("p parent") }
        if hasRevisions(row) { keys.append("v versions") }
        if !row.attachments.isEmpty { keys.append("s save") }
        return (keys + ["Enter details", "Esc back"]).joined(separator: "  ")
    }

    // MARK: The list

    private func listLines() -> [Line] {
        var lines = listHead.map { [$0] } ?? []
        for entry in list.dropFirst(listStart).prefix(listHeight) { lines += self.lines(of: entry) }
        if list.isEmpty {
            let reason = banner == nil ? " Loading…" : " Not loaded yet."
            let nothing =
                switch folder {
                case .inbox: " No conversations yet."
                case .archive: " Nothing is archived."
                case .requests: " Loading…"
                }
            lines.append(Line(wasOnline ? nothing : reason, .dim))
            if wasOnline, folder == .inbox { lines.append(Line(" Press n to begin one.", .dim)) }
        }
        return filled(lines, width: listWidth)
    }

    private func lines(of entry: ListEntry) -> [Line] {
        let conversation = entry.conversation
        let isMarked = conversation.id == marked && (focus == .list || isSplit && talk?.id == marked)
        let isUnread = conversation.request != true && conversation.unreadCount > 0 || conversation.markedUnread == true
        let isMuted = conversation.isMuted(at: now)
        let time = entry.latest?.message.createdAt ?? conversation.lastActivityAt
        var title = Line(isMarked ? "▌" : " ", focus == .list ? .own : .dim)
        title.append(name(of: entry), Style(isBold: isUnread || isMarked))
        let first = Line.between(
            title, Line(signs(of: entry) + " " + maker.times.brief(time, now: now) + " ", .dim), width: listWidth
        )
        var preview = Line(isMarked ? "▌" : " ", focus == .list ? .own : .dim)
        preview.append(self.preview(of: entry), entry.hasFailed ? .bad : isUnread ? .plain : .dim)
        // Who is mentioned is meant, muted or not.
        var right = isUnread && conversation.unreadMentions ?? 0 > 0 ? Line("@ ", .own) : Line()
        if isUnread {
            right.append(
                " \(conversation.unreadCount > 0 ? counted(conversation.unreadCount) : "●") ",
                isMuted ? .dim : .own.reversed)
        }
        right.append(" ")
        let second = Line.between(preview, right, width: listWidth)
        return [first, second].map {
            isMarked && focus == .list ? $0.styled { style in style == .dim ? .plain : style } : $0
        }
    }

    /// That it is pinned or muted, or the other is blocked.
    private func signs(of entry: ListEntry) -> String {
        (entry.conversation.pinOrder == nil ? "" : " ▴") + (entry.conversation.isMuted(at: now) ? " ∅" : "")
            + (entry.isBlocked ? " ⊘" : "")
    }

    /// Not more than 100 are counted.
    private func counted(_ unread: Int) -> String { unread > 99 ? "99+" : "\(unread)" }

    private func preview(of entry: ListEntry) -> String {
        if entry.hasFailed { return "Not sent" }
        if let draft = entry.draft?.text, !draft.isEmpty, entry.conversation.id != talk?.id {
            return "Draft: \(HarmlessText.line(draft))"
        }
        guard let message = entry.latest?.message else { return "No messages yet" }
        return MessagePreview.line(
            of: message, viewer: user, naming: entry.conversation.kind == .group, maker: maker, limit: listWidth)
    }

    /// The title of a conversation, or who is in it.
    func name(of entry: ListEntry) -> String {
        let conversation = entry.conversation
        if let title = conversation.title.map({ HarmlessText.line($0) }), !title.isEmpty { return title }
        if let other = entry.other { return called(other) }
        if conversation.id == talk?.id, let members = talk?.members, !members.isEmpty, members.count <= 5 {
            return members.map(\.userId).filter { $0 != user }.map(called).joined(separator: ", ")
        }
        return conversation.kind == .direct ? "Direct conversation" : "Group of \(conversation.memberCount)"
    }

    // MARK: The right side

    private func rightLines() -> [Line] {
        let lines: [Line] =
            switch focus {
            case .search(let panel): lines(of: panel)
            case .beginning(let panel): lines(of: panel)
            case .joining(let panel): lines(of: panel)
            case .help: helpLines()
            case .details(let panel): lines(of: panel)
            case .settings(let panel): lines(of: panel)
            case .revisions(let panel): lines(of: panel)
            case .reporting(let panel): lines(of: panel)
            case .attaching(let panel): lines(of: panel)
            case .saving(let panel): lines(of: panel)
            case .scheduling(let panel): lines(of: panel)
            default: talk.map(talkLines) ?? [Line(), Line("Choose a conversation.", .dim).centered(in: talkWidth)]
            }
        return filled(lines, width: talkWidth)
    }

    private func filled(_ lines: [Line], width: Int) -> [Line] {
        var lines = lines.prefix(bodyHeight).map { $0.fitted(to: width) }
        while lines.count < bodyHeight { lines.append(Line().fitted(to: width)) }
        return lines
    }

    private func talkLines(_ talk: OpenConversation) -> [Line] {
        let layout = layout(of: talk)
        let view = layout.view(from: talk.place, height: timelineHeight)
        var timeline = view.lines
        if view.isAtStart, talk.timeline.hasMoreBefore, timeline.count < timelineHeight || talk.rows.isEmpty {
            timeline.insert(Line("Loading…", .dim).centered(in: talkWidth), at: 0)
        }
        if talk.rows.isEmpty, !talk.timeline.hasMoreBefore {
            let isUnknown = entry(of: talk.id) == nil
            let text = isUnknown ? connection == .online ? "Loading…" : "Not loaded yet." : "Nothing here yet."
            timeline = [Line(), Line(text, .dim).centered(in: talkWidth)]
        }
        // What there is stands above what is being written.
        timeline = Array(repeating: Line(), count: max(0, timelineHeight - timeline.count)) + timeline
        var lines = [head(of: talk)] + timeline.suffix(timelineHeight)
        lines.append(underTimeline(talk, view))
        if let modeLine { lines.append(modeLine) }
        return lines + composerLines()
    }

    private func head(of talk: OpenConversation) -> Line {
        let entry = entry(of: talk.id)
        var title = Line(" " + (entry.map(name) ?? "…"), Style(isBold: true, isReverse: true))
        title.append("  ", .bar)
        var people = Line(people(talk, entry) + " ", .bar)
        if people.width > talkWidth / 2, let count = entry?.conversation.memberCount {
            people = Line("\(count) members ", .bar)  // Long names would leave no room for the title.
        }
        return Line.between(title, people, width: talkWidth, filling: .bar)
    }

    /// Who is here: in a direct conversation whether the other is, in a group by name.
    private func people(_ talk: OpenConversation, _ entry: ListEntry?) -> String {
        if entry?.isBlocked ?? false { return "⊘ blocked" }
        if isRequest { return "request" }
        if let conversation = entry?.conversation, !conversation.isMember { return "not a member any more" }
        let others = talk.members.map(\.userId).filter { $0 != user }
        if others.isEmpty { return entry.map { "\($0.conversation.memberCount) members" } ?? "" }
        if let entry, entry.conversation.kind == .direct, let other = others.first { return self.presence(of: other) }
        if others.count > 8 { return "\(others.count + 1) members" }
        return others.map { called($0) + (online.contains($0) ? " ●" : "") }.joined(separator: ", ")
    }

    private func presence(of user: UserID) -> String {
        guard connection == .online else { return "" }
        if online.contains(user) { return "● online" }
        return lastSeen[user].map { "last seen \(maker.times.brief($0, now: now))" } ?? ""
    }

    /// Who types, or that there is more below.
    private func underTimeline(_ talk: OpenConversation, _ view: TimelineLayout.View) -> Line {
        let typing = Line(typingText(talk.typing), .good)
        guard !view.isAtEnd || talk.timeline.hasMoreAfter else { return typing }
        let unseen = unseen(in: talk)
        let more = unseen > 0 ? " ↓ \(counted(unseen)) new · End " : " ↓ more · End "
        return Line.between(typing, Line(more, .own.reversed), width: talkWidth)
    }

    private func typingText(_ users: [UserID]) -> String {
        switch users.count {
        case 0: ""
        case 1: " \(called(users[0])) is typing…"
        case 2: " \(called(users[0])) and \(called(users[1])) are typing…"
        default: " \(users.count) people are typing…"
        }
    }

    // MARK: Writing

    private func composerLines() -> [Line] {
        switch focus {
        case .tapback: return [tapbackChoice()]
        case .voting: return [voteChoice()]
        case .deletion: return [deletionChoice()]
        default: break
        }
        if isRequest { return requestLines }
        if let refusal = writingRefusal { return [Line(" " + refusal.text, .dim)] }
        let layout = composer
        let start = firstComposerLine(layout)
        return layout.lines[start..<start + composerHeight].enumerated().map { number, text in
            var line = Line(number + start == 0 ? "> " : "  ", focus == .composer ? .own : .dim)
            line.append(text, focus == .composer ? .plain : .dim)
            return line
        }
    }

    private func firstComposerLine(_ layout: TextEditor.Layout) -> Int {
        max(0, min(layout.cursor.row, layout.lines.count - 1) - composerHeight + 1)
    }

    private func tapbackChoice() -> Line {
        let own = talk?.selectedRow?.message.tapback(of: user)
        var line = Line(" Tapback: ", .bold)
        for (number, kind) in TapbackKind.classic.enumerated() {
            line.append("\(number + 1) \(kind.symbol)  ", kind == own ? .own.reversed : .plain)
        }
        line.append("or an emoji" + (own == nil ? "" : "  0 none"), .dim)
        return line
    }

    private func deletionChoice() -> Line {
        var line = Line(" Delete: ", .bold)
        line.append("m for me")
        if let row = talk?.selectedRow, refusal(of: .deleteForEveryone, row) == nil { line.append("  e for everyone") }
        return line
    }

    private var cursor: Frame.Position? {
        let left = isSplit ? listWidth + 1 : 0
        switch focus {
        case .composer:
            guard isTalkShown, !isRequest, writingRefusal == nil else { return nil }
            let layout = composer
            return Frame.Position(
                column: left + 2 + layout.cursor.column,
                row: 1 + bodyHeight - composerHeight + layout.cursor.row - firstComposerLine(layout))
        case .search(let panel): return panel.pinnedIn == nil ? field(panel.editor, row: 1, left: left) : nil
        case .beginning(let panel):
            return panel.isAtTitle ? field(panel.title, row: 4, left: left) : field(panel.names, row: 2, left: left)
        case .details(let panel): return cursor(in: panel, left: left)
        case .settings(let panel): return cursor(in: panel, left: left)
        case .reporting(let panel): return field(panel.text, row: Self.reportTextRow, left: left)
        case .attaching(let panel): return field(panel.path, row: Self.fileRow, left: left)
        case .saving(let panel): return field(panel.path, row: Self.fileRow, left: left)
        case .scheduling(let panel): return panel.isWriting ? field(panel.time, row: Self.scheduleRow, left: left) : nil
        case .list, .messages, .tapback, .voting, .deletion, .help, .revisions, .joining: return nil
        }
    }

    // MARK: Panels

    static let label = 9

    func field(_ editor: TextEditor, row: Int, left: Int) -> Frame.Position {
        let text = fieldText(editor)
        return Frame.Position(column: left + Self.label + text.column, row: 1 + row)
    }

    /// One line of a text around its cursor.
    private func fieldText(_ editor: TextEditor) -> (text: String, column: Int) {
        let glyphs = editor.text.map { Glyph($0) ?? Glyph(" ")! }
        let width = max(1, talkWidth - Self.label - 1)
        var start = editor.cursor
        var column = 0
        while start > 0, column + glyphs[start - 1].width < width {
            start -= 1
            column += glyphs[start].width
        }
        return (glyphs[start...].map { $0.isNewline ? " " : $0.text }.joined(), column)
    }

    func fieldLine(_ label: String, _ editor: TextEditor, isActive: Bool) -> Line {
        var line = Line(" " + label, isActive ? .bold : .dim)
        line.pad(to: Self.label)
        line.append(fieldText(editor).text)
        return line
    }

    private func lines(of panel: SearchPanel) -> [Line] {
        let isSearch = panel.pinnedIn == nil
        var lines = [Line(isSearch ? " Search" : " Pinned", .bar).fitted(to: talkWidth, filling: .bar)]
        if isSearch { lines.append(fieldLine("Words", panel.editor, isActive: true)) }
        lines.append(Line())
        let room = max(1, (bodyHeight - lines.count) / 2)
        let start = panel.index / room * room
        for (index, message) in panel.results.enumerated().dropFirst(start).prefix(room) {
            lines += self.lines(of: message, isSelected: index == panel.index)
        }
        if panel.results.isEmpty, !isSearch || !panel.query.isEmpty {
            let (waiting, nothing) =
                isSearch ? (" Searching…", " Nothing found.") : (" Loading…", " Nothing is pinned.")
            lines.append(Line(panel.isAnswered ? nothing : waiting, .dim))
        }
        return lines
    }

    private func lines(of message: Message, isSelected: Bool) -> [Line] {
        let place = entry(of: message.conversationId).map(name) ?? "…"
        let head = Line(" \(message.senderId == user ? "You" : called(message.senderId)) in \(place)", .bold)
        let time = Line(" \(maker.times.brief(message.createdAt, now: now)) ", .dim)
        let text = Line("   " + HarmlessText.line(message.previewText ?? "", limit: talkWidth))
        return [Line.between(head, time, width: talkWidth), text].map {
            isSelected ? $0.fitted(to: talkWidth).styled(\.reversed) : $0
        }
    }

    private func lines(of panel: NewConversationPanel) -> [Line] {
        [
            Line(" New conversation", .bar).fitted(to: talkWidth, filling: .bar), Line(),
            fieldLine("With", panel.names, isActive: !panel.isAtTitle),
            Line("         names with spaces between them, or the link of an invitation", .dim),
            fieldLine("Title", panel.title, isActive: panel.isAtTitle),
            Line("         makes a group also of two", .dim), Line(), Line(panel.problem.map { " \($0)" } ?? "", .bad),
        ]
    }

    private func helpLines() -> [Line] {
        [Line(" Keys", .bar).fitted(to: talkWidth, filling: .bar), Line()]
            + HelpText.keys.split(separator: "\n").flatMap { helpLines(String($0)) }
    }

    /// The part before the first column of keys is a title.
    private func helpLines(_ text: String) -> [Line] {
        let title = HarmlessText.line(String(text.prefix(13)))
        let keys = wrapped(String(text.dropFirst(13)), width: talkWidth - 5).map { Line("   " + $0) }
        return (title.isEmpty ? [] : [Line(" " + title, .bold)]) + keys
    }
}
