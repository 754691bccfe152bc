import Models
import ParleyPresentation
import ParleyStorage

// What keys do, by where they go.
extension ChatScreen {
    mutating func press(_ key: Key) -> [ChatEffect] {
        if let effects = pressAnywhere(key) { return effects }
        switch focus {
        case .list: return pressInList(key)
        case .composer: return pressInComposer(key)
        case .messages: return pressInMessages(key)
        case .tapback: return pressForTapback(key)
        case .voting: return pressForVote(key)
        case .deletion: return pressForDeletion(key)
        case .search(let panel): return press(key, in: panel)
        case .beginning(let panel): return press(key, in: panel)
        case .joining(let panel): return press(key, in: panel)
        case .details(let panel): return press(key, in: panel)
        case .settings(let panel): return press(key, in: panel)
        case .revisions(let panel): return press(key, in: panel)
        case .reporting(let panel): return press(key, in: panel)
        case .attaching(let panel): return press(key, in: panel)
        case .saving(let panel): return press(key, in: panel)
        case .scheduling(let panel): return press(key, in: panel)
        case .help:
            leavePanel()
            return []
        }
    }

    /// Nil for a key that does not do the same everywhere.
    private mutating func pressAnywhere(_ key: Key) -> [ChatEffect]? {
        switch key {
        case .control("q"), .control("c"): return leave() + [.quit]
        case .control("l"): return [.redraw]
        case .control("f"): focus = .search(SearchPanel())
        case .control("p"):
            guard let talk else { return [] }
            focus = .search(SearchPanel(pinnedIn: talk.id))
            return [.loadPinned]
        case .control("n"): focus = .beginning(NewConversationPanel())
        case .control("g"): return openDetails()
        case .control("o"): focus = .settings(SettingsPanel())
        case .control("r"): return [.reconnect]
        case .control("t"): openAttaching()
        case .control("s"): return openSchedule()
        case .control("v"): return sendPoll()
        case .help: focus = .help
        case .click(let column, let row): return click(column, row)
        case .wheel(let up) where isTimelineShown: return scroll(by: up ? -3 : 3)
        default: return nil
        }
        return []
    }

    // MARK: The list

    private mutating func pressInList(_ key: Key) -> [ChatEffect] {
        switch key {
        case .up, .text("k"): return move(by: -1)
        case .down, .text("j"): return move(by: 1)
        case .pageUp: return move(by: -listHeight)
        case .pageDown: return move(by: listHeight)
        case .home: return move(by: -list.count)
        case .end: return move(by: list.count)
        case .enter where forwarding != nil: return forward()
        case .escape where forwarding != nil:
            forwarding = nil
            focus = .messages
        case .enter, .right, .text("l"): return marked.map { open($0) } ?? []
        case .tab, .escape, .left: if talk != nil { focus = .composer }
        case .text("/"): focus = .search(SearchPanel())
        case .text("n"): focus = .beginning(NewConversationPanel())
        case .text("s"): focus = .settings(SettingsPanel())
        case .text("?"): focus = .help
        case .text("R"): return toggleRequests()
        case .text(let letter): return mark(letter)
        default: break
        }
        return []
    }

    /// What the user keeps to themselves about the marked conversation: each key takes away what it has set.
    private mutating func mark(_ letter: String) -> [ChatEffect] {
        if letter == "A" { return toggleArchive() }
        guard let entry = list.first(where: { $0.conversation.id == marked }) else { return [] }
        let conversation = entry.conversation
        let id = conversation.id
        if folder == .requests, letter != "b" { return [] }
        switch letter {
        case "m":
            let mutes = !conversation.isMuted(at: now)
            notice = mutes ? "Muted until you press m here again." : "Not muted any more."
            return [.mute(id, mutes)]
        case "p": return [.pin(id, conversation.pinOrder == nil)]
        case "a":
            notice = folder == .inbox ? "Archived. A shows the archive." : "Taken out of the archive."
            return [.archive(id, folder == .inbox)]
        case "u": return [.markUnread(id, conversation.markedUnread != true)]
        case "b":
            if let other = requester(of: entry) { return toggleBlock(of: other) }
            notice =
                conversation.kind == .direct
                ? "Who this is, is not known yet." : "Ctrl-G names the members: b blocks one."
            return []
        default: return []
        }
    }

    mutating func toggleBlock(of other: UserID) -> [ChatEffect] {
        let blocks = !blocked.contains(other)
        notice =
            blocks
            ? "\(called(other)) is blocked, and does not learn of it. b again ends that."
            : "\(called(other)) is not blocked any more."
        return [.block(other, blocks)]
    }

    private mutating func toggleArchive() -> [ChatEffect] {
        show(folder == .archive ? .inbox : .archive)
    }

    private mutating func toggleRequests() -> [ChatEffect] {
        if folder != .requests, requestCount == 0 {
            notice = "Nobody whom you do not know has written to you."
            return []
        }
        return show(folder == .requests ? .inbox : .requests)
    }

    /// Shows another part of the list.
    mutating func show(_ folder: ListFolder) -> [ChatEffect] {
        self.folder = folder
        hasChosen = false
        return [.showFolder(folder)]
    }

    private mutating func move(by offset: Int) -> [ChatEffect] {
        guard !list.isEmpty else { return [] }
        let present = list.firstIndex { $0.conversation.id == marked } ?? 0
        let index = max(0, min(list.count - 1, present + offset))
        marked = list[index].conversation.id
        hasChosen = true
        return hasMoreInList && index + listHeight > list.count ? [.loadMoreConversations] : []
    }

    private mutating func click(_ column: Int, _ row: Int) -> [ChatEffect] {
        guard column < listWidth, isListShown else { return [] }
        if row == 1, listHead != nil { return toggleRequests() }
        guard let entry = entry(atRow: row) else { return [] }
        return open(entry.conversation.id)
    }

    // MARK: The composer

    private mutating func pressInComposer(_ key: Key) -> [ChatEffect] {
        guard var talk else { return [] }
        if isRequest, let effects = decide(key) { return effects }
        if let refusal = writingRefusal, writes(key) {
            notice = refusal.text
            return []
        }
        switch key {
        case .enter: return finish()
        case .escape: return cancel()
        case .tab, .backTab:
            focus = .list
            marked = talk.id
            return endTyping()
        case .pageUp: return scroll(by: 2 - timelineHeight)
        case .pageDown: return scroll(by: timelineHeight - 2)
        case .up:
            guard talk.editor.moveLine(by: -1, width: composerWidth) else { return select(by: -1) }
            self.talk = talk
        case .down:
            guard talk.editor.moveLine(by: 1, width: composerWidth) else { return scrollToEnd() }
            self.talk = talk
        case .end where talk.editor.isEmpty: return scrollToEnd()
        case .newline:
            self.talk?.editor.insert("\n", limit: ContractLimits.textBytes)
            return noteTyping()
        default:
            guard self.talk?.editor.edit(key) ?? false else { break }
            return noteTyping()
        }
        return []
    }

    /// Whether a key sends or changes what is being written, where it does nothing else.
    private func writes(_ key: Key) -> Bool {
        switch key {
        case .escape, .tab, .backTab, .pageUp, .pageDown, .up, .down, .end: return false
        default: return true
        }
    }

    /// What stands in the place of the composer. Nil for a key that does the same as ever: to scroll, to choose, to go back.
    private mutating func decide(_ key: Key) -> [ChatEffect]? {
        let isDeclining = talk?.isDeclining ?? false
        talk?.isDeclining = false
        switch key {
        case .text("y") where isDeclining: return [.decline] + closeRequest("Declined. Nobody is told.")
        case .escape where isDeclining: break
        case .text("a"):
            // Where it stands from now on.
            return [.accept] + (folder == .requests ? show(.inbox) : [])
        case .text("d"): talk?.isDeclining = true
        case .text("b"):
            guard let other = talk.flatMap({ entry(of: $0.id) }).flatMap({ requester(of: $0) }) else {
                notice = "Who this is, is not known yet."
                break
            }
            return toggleBlock(of: other)
        case .escape, .tab, .backTab, .pageUp, .pageDown, .up, .down, .end: return nil
        default: break
        }
        return []
    }

    /// It was declined, here or elsewhere, or taken back.
    mutating func closeRequest(_ notice: String = "The request is not there any more.") -> [ChatEffect] {
        if [.composer, .messages].contains(focus) { focus = .list }
        talk = nil
        marked = list.first?.conversation.id
        self.notice = notice
        return []
    }

    /// Sends what is written, or changes the message that is being edited.
    private mutating func finish() -> [ChatEffect] {
        guard let talk else { return [] }
        let text = talk.editor.text
        guard text.contains(where: { !$0.isWhitespace }) else { return [] }
        if let entry = entry(of: talk.id), !entry.conversation.isMember {
            notice =
                entry.isBlocked
                ? "You have blocked \(name(of: entry)). b in the list ends that." : ActionRefusal.formerMember.text
            return []
        }
        self.talk?.mode = .message
        switch talk.mode {
        case .edit(let id, let draft):
            self.talk?.editor.replace(with: draft)
            return talk.rows.first { $0.id == id }?.message.text == text ? [] : [.edit(id, text)]
        case .message, .reply:
            self.talk?.editor.replace(with: "")
            var parent: MessageID?
            if case .reply(let id, _, _) = talk.mode { parent = id }
            // At once, so that nobody finds as a draft what was sent.
            return endTyping() + [.send(text, replyTo: parent)] + keepDraft() + scrollToEnd()
        }
    }

    private mutating func cancel() -> [ChatEffect] {
        guard let talk else { return [] }
        switch talk.mode {
        case .edit(_, let draft):
            self.talk?.editor.replace(with: draft)
            self.talk?.mode = .message
        case .reply:
            self.talk?.mode = .message
        case .message:
            if talk.place != .end || isSplit { return scrollToEnd() }
            focus = .list
            marked = talk.id
            return endTyping()
        }
        return []
    }

    // MARK: Messages

    private mutating func pressInMessages(_ key: Key) -> [ChatEffect] {
        switch key {
        case .up, .text("k"): return select(by: -1)
        case .down, .text("j"): return select(by: 1)
        case .pageUp: return scroll(by: 2 - timelineHeight)
        case .pageDown: return scroll(by: timelineHeight - 2)
        case .end, .text("G"): return scrollToEnd()
        case .escape, .tab, .text("q"):
            talk?.selected = nil
            focus = .composer
        case .enter, .text(" "): toggleDetails()
        case .text("p"): return jumpToParent()
        case .text("@"): return [.findMention]
        case .text("v"): return openRevisions()
        case .text("f"): return beginForwarding(showingOrigin: true)
        case .text("F"): return beginForwarding(showingOrigin: false)
        case .text("r"): return act(.reply)
        case .text("R"): return act(.retry)
        case .text("e"): return act(.edit)
        case .text("t"): return act(.tapback)
        case .text("o"): return act(.vote)
        case .text("O"): return act(.closePoll)
        case .text("d"): return act(.deleteForMe)
        case .text("P"): return act(talk?.selectedRow?.message.pinned == nil ? .pin : .unpin)
        case .text("s"): openSaving()
        case .text("x"): return act(.discard)
        case .text(Self.reportKey): return act(.report)
        case .text("?"): focus = .help
        default: break
        }
        return []
    }

    /// Does something to the selected message, or says why not.
    private mutating func act(_ action: MessageAction) -> [ChatEffect] {
        guard let talk, let row = talk.selectedRow else { return [] }
        var action = action
        let isFailed = if case .failed = row.state { true } else { false }
        if action == .reply, isFailed { action = .retry }  // One key for what it most likely is.
        if let refusal = refusal(of: action, row) {
            notice = isRequest && refusal == .formerMember ? GroupRefusal.request.text : refusal.text
            return []
        }
        switch action {
        case .reply:
            let mode = reply(to: row)
            self.talk?.mode = mode
            return writeAnswer()
        case .edit:
            self.talk?.mode = .edit(row.id, draft: talk.draft?.text ?? "")
            self.talk?.editor.replace(with: row.message.text ?? "")
            return writeAnswer()
        case .tapback: focus = .tapback
        case .vote: focus = .voting
        case .closePoll: return [.closePoll(row.id)]
        case .pin, .unpin: return [.pinMessage(row.id, action == .pin)]
        case .deleteForMe, .deleteForEveryone: focus = .deletion
        case .retry: return [.retry(row.id)]
        case .discard: return [.discard(row.id)]
        case .report: focus = .reporting(ReportPanel(user: row.message.senderId, message: row.id))
        case .copy, .forward: break
        }
        return []
    }

    /// The selected message goes where the user says next, in the list.
    private mutating func beginForwarding(showingOrigin: Bool) -> [ChatEffect] {
        guard let talk, let row = talk.selectedRow else { return [] }
        if let refusal = refusal(of: .forward, row) {
            notice = refusal.text
            return []
        }
        forwarding = Forwarding(message: row.id, source: talk.id, showsOrigin: showingOrigin)
        notice =
            "Choose where it goes\(showingOrigin ? "" : ", without the name of who wrote it"): Enter sends it, Esc does not."
        focus = .list
        return []
    }

    private mutating func forward() -> [ChatEffect] {
        guard let forwarding, let marked else { return [] }
        self.forwarding = nil
        return [.forward(forwarding, to: marked)] + open(marked)
    }

    func refusal(of action: MessageAction, _ row: TimelineRow) -> ActionRefusal? {
        let conversation = talk.flatMap { entry(of: $0.id) }?.conversation
        let leads = conversation.map { $0.kind == .group && $0.role != .member } ?? false
        return MessageActions(
            row, viewer: user, isMember: conversation?.isMember ?? true, leads: leads, writingRefusal: writingRefusal,
            repliesToAttachments: repliesToAttachments, now: now
        ).refusal(of: action)
    }

    private mutating func writeAnswer() -> [ChatEffect] {
        talk?.selected = nil
        focus = .composer
        return []
    }

    private mutating func toggleDetails() {
        guard let id = talk?.selected else { return }
        if talk?.tapped.remove(id) == nil { talk?.tapped.insert(id) }
        makeBubbles()
        keepSelectionShown()
        guard let row = talk?.selectedRow, talk?.tapped.contains(id) ?? false else { return }
        notice = details(of: row)
    }

    /// When it was written, and who has read it.
    private func details(of row: TimelineRow) -> String? {
        guard row.message.seq > 0 else { return nil }
        let time = "\(maker.times.dayName(row.message.createdAt, now: now)) \(maker.times.time(row.message.createdAt))"
        let others = talk?.members.filter { $0.userId != row.message.senderId && $0.joinedSeq <= row.message.seq } ?? []
        let readers = others.filter { $0.readSeq >= row.message.seq }.map { called($0.userId) }
        let receivers = others.filter { $0.readSeq < row.message.seq && $0.deliveredSeq >= row.message.seq }
        var parts = [time]
        if !readers.isEmpty { parts.append("read by \(readers.joined(separator: ", "))") }
        if !receivers.isEmpty {
            parts.append("delivered to \(receivers.map { called($0.userId) }.joined(separator: ", "))")
        }
        return parts.joined(separator: " · ")
    }

    private mutating func jumpToParent() -> [ChatEffect] {
        guard let parent = talk?.selectedRow?.parent?.id else { return [] }
        return show(parent)
    }

    private mutating func pressForTapback(_ key: Key) -> [ChatEffect] {
        guard let talk, let row = talk.selectedRow else { return [] }
        focus = .messages
        guard case .text(let text) = key else { return [] }
        if text == "0" { return row.message.tapback(of: user) == nil ? [] : [.react(row.id, nil)] }
        let classic = Int(text).flatMap {
            (1...TapbackKind.classic.count).contains($0) ? TapbackKind.classic[$0 - 1] : nil
        }
        guard let kind = classic ?? TapbackKind(text) ?? TapbackKind(text + "\u{FE0F}") else {
            notice = "A tapback is one of 1 to 6, or one emoji."
            return []
        }
        return [.react(row.id, row.message.tapback(of: user) == kind ? nil : kind)]
    }

    private mutating func pressForDeletion(_ key: Key) -> [ChatEffect] {
        guard let row = talk?.selectedRow else { return [] }
        focus = .messages
        switch key {
        case .text("m"): return [.delete(row.id, forEveryone: false)]
        case .text("e"):
            if let refusal = refusal(of: .deleteForEveryone, row) {
                notice = refusal.text
                return []
            }
            return [.delete(row.id, forEveryone: true)]
        default: return []
        }
    }

    // MARK: Scrolling

    private mutating func select(by offset: Int) -> [ChatEffect] {
        guard let talk, !talk.rows.isEmpty else { return [] }
        let view = layout(of: talk).view(from: talk.place, height: timelineHeight)
        let present = talk.selected.flatMap { id in talk.rows.firstIndex { $0.id == id } }
        let index = present.map { $0 + offset } ?? view.bubbles.upperBound - 1
        guard index < talk.rows.count else {
            self.talk?.selected = nil
            focus = .composer
            return scrollToEnd()
        }
        if index < 0 { self.talk?.askedBefore = nil }
        self.talk?.selected = talk.rows[max(0, index)].id
        focus = .messages
        keepSelectionShown()
        return []
    }

    private mutating func keepSelectionShown() {
        guard let talk, let selected = talk.selected else { return }
        let place = layout(of: talk).showing(selected, from: talk.place, height: timelineHeight)
        self.talk?.place = place
    }

    private mutating func scroll(by lines: Int) -> [ChatEffect] {
        guard let talk else { return [] }
        let layout = layout(of: talk)
        let view = layout.view(from: talk.place, height: timelineHeight)
        // Who wants more than there is asks again: the last time, the server may have been away.
        if lines < 0, view.isAtStart { self.talk?.askedBefore = nil }
        if lines > 0, view.isAtEnd { self.talk?.askedAfter = nil }
        let place = layout.scrolled(talk.place, by: lines, height: timelineHeight)
        self.talk?.place = place
        return []
    }

    mutating func scrollToEnd() -> [ChatEffect] {
        guard let talk else { return [] }
        self.talk?.selected = nil
        self.talk?.target = nil
        self.talk?.place = .end
        if focus == .messages { focus = .composer }
        return talk.timeline.hasMoreAfter ? [.showNewest] : []
    }

    // MARK: Panels

    /// Back to where the user came from.
    mutating func leavePanel() { focus = talk == nil ? .list : talk?.selected == nil ? .composer : .messages }

    private mutating func press(_ key: Key, in panel: SearchPanel) -> [ChatEffect] {
        var panel = panel
        var effects: [ChatEffect] = []
        switch key {
        case .escape:
            leavePanel()
            return []
        case .up: panel.move(by: -1)
        case .down: panel.move(by: 1)
        case .enter:
            guard let found = panel.selected else { break }
            return open(found.conversationId, at: found.id)
        default:
            guard panel.pinnedIn == nil, panel.editor.edit(key) else { break }
            panel.isAnswered = false
            if panel.query.allSatisfy(\.isWhitespace) {
                panel.results = []
            } else {
                effects.append(.search(panel.query))
            }
        }
        focus = .search(panel)
        return effects
    }

    private mutating func press(_ key: Key, in panel: NewConversationPanel) -> [ChatEffect] {
        var panel = panel
        switch key {
        case .escape:
            leavePanel()
            return []
        case .tab, .backTab, .up, .down: panel.isAtTitle.toggle()
        case .enter:
            if let effect = panel.effect(for: user) {
                // What an invitation opens is shown first.
                if case .lookAtInvitation = effect { focus = .beginning(panel) } else { leavePanel() }
                return [effect]
            }
        default:
            if panel.isAtTitle { _ = panel.title.edit(key) } else { _ = panel.names.edit(key) }
        }
        focus = .beginning(panel)
        return []
    }
}

extension TextEditor {
    /// Keys that edit any text; false for others.
    mutating func edit(_ key: Key) -> Bool {
        switch key {
        case .text(let text): insert(text.withoutControls, limit: ContractLimits.textBytes)
        case .backspace: deleteBackward()
        case .delete, .control("d"): deleteForward()
        case .control("w"): deleteWord()
        case .control("u"): deleteToStart()
        case .control("k"): deleteToEnd()
        case .left, .control("b"): moveLeft()
        case .right: moveRight()
        case .wordLeft: moveWordLeft()
        case .wordRight: moveWordRight()
        case .home, .control("a"): moveToStart()
        case .end, .control("e"): moveToEnd()
        default: return false
        }
        return true
    }
}

extension String {
    /// What a paste brings along that no message should have.
    fileprivate var withoutControls: String {
        String(
            replacing("\r\n", with: "\n").unicodeScalars.compactMap { scalar -> Character? in
                if scalar == "\r" { return "\n" }
                if scalar == "\t" { return " " }
                return scalar.value < 0x20 && scalar != "\n" || (0x7F..<0xA0).contains(scalar.value)
                    ? nil : Character(scalar)
            })
    }
}
