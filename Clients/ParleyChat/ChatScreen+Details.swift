import Models
import ParleyPresentation
import ParleyStorage

// The panels about a conversation, about settings, and about what a message said before.
extension ChatScreen {
    // MARK: A conversation

    mutating func openDetails() -> [ChatEffect] {
        guard let talk else { return [] }
        focus = .details(DetailsPanel(marked: talk.members.first?.userId))
        return [.watchSettingsHere]
    }

    mutating func press(_ key: Key, in panel: DetailsPanel) -> [ChatEffect] {
        guard let entry = talk.flatMap({ entry(of: $0.id) }) else {
            leavePanel()
            return []
        }
        var panel = panel
        var effects: [ChatEffect] = []
        switch (panel.step, key) {
        case (.looking, .escape), (.looking, .tab):
            leavePanel()
            return []
        case (_, .escape): panel.step = .looking
        case (.looking, _): return look(key, panel, GroupActions(entry.conversation))
        case (.title(let editor), .enter): effects = rename(entry.conversation, editor.text, &panel)
        case (.adding(let editor), .enter): effects = add(editor.text, &panel)
        case (.title(var editor), _):
            _ = editor.edit(key)
            panel.step = .title(editor)
        case (.adding(var editor), _):
            _ = editor.edit(key)
            panel.step = .adding(editor)
        case (.removing(let user), .text("y")):
            effects = [.remove(user)]
            panel.step = .looking
        case (.leaving, .text("y")):
            effects = [.leaveGroup]
            panel.step = .looking
        case (.removing, _), (.leaving, _): panel.step = .looking
        case (.permissions(let index), _): effects = permit(key, index, entry.conversation, &panel)
        case (.bans(let bans?, let index), _): effects = lift(key, bans, index, &panel)
        case (.bans(nil, _), _): break
        case (.invitations(let step), _): effects = invite(key, step, entry.conversation, &panel)
        case (.joinRequests(let requests?, let index), _): effects = decide(key, requests, index, &panel)
        case (.joinRequests(nil, _), _): break
        }
        focus = .details(panel)
        return effects
    }

    private mutating func look(_ key: Key, _ panel: DetailsPanel, _ actions: GroupActions) -> [ChatEffect] {
        var panel = panel
        switch key {
        case .up, .text("k"): panel.marked = member(-1, from: panel)
        case .down, .text("j"): panel.marked = member(1, from: panel)
        case .pageUp: panel.marked = member(-membersHeight, from: panel)
        case .pageDown: panel.marked = member(membersHeight, from: panel)
        case .text("r"): return changeReadReceipts(panel)
        case .text("b"):
            guard let member = panel.marked, member != user else { return [] }
            return toggleBlock(of: member)
        case .text(Self.reportKey):
            guard let member = panel.marked, member != user else { return [] }
            focus = .reporting(ReportPanel(user: member, message: nil))
            return []
        case .text(let letter):
            guard let action = Self.groupKeys.first(where: { $0.key == letter })?.action else { return [] }
            let member = talk?.members.first { $0.userId == panel.marked && $0.userId != user }
            let refusal = action == .removeMembers ? member.map(actions.refusal(ofRemoving:)) : nil
            if let refusal = refusal ?? actions.refusal(of: action) {
                notice = refusal.text
                return []
            }
            return begin(action, letter, panel)
        default: break
        }
        focus = .details(panel)
        return []
    }

    private static let groupKeys: [(key: String, action: GroupAction, text: String)] = [
        ("a", .addMembers, "add"), (inviteKey, .addMembers, "invite"), ("e", .rename, "title"),
        (adminKey, .changeRoles, "admin"),
        ("o", .changeRoles, "owner"), ("x", .removeMembers, "remove"), ("p", .changePermissions, "who may"),
        (lifetimeKey, .changeLifetime, "disappearing"), (startKey, .changeLifetime, "from reading"),
        ("u", .liftBans, "removed"), ("w", .decideRequests, "asking"),
        ("l", .leave, "leave"), ("d", .removeFromList, "off the list"),
    ]

    private static let adminKey = "m"
    private static let inviteKey = "i"
    private static let lifetimeKey = "t"
    private static let startKey = "f"

    private mutating func begin(_ action: GroupAction, _ key: String, _ panel: DetailsPanel) -> [ChatEffect] {
        var panel = panel
        let member = talk?.members.first { $0.userId == panel.marked }
        switch action {
        case .rename: panel.step = .title(TextEditor(talk.flatMap { entry(of: $0.id) }?.conversation.title ?? ""))
        case .addMembers where key == Self.inviteKey:
            panel.step = .invitations(InvitationsStep())
            focus = .details(panel)
            return [.loadInvitations]
        case .addMembers: panel.step = .adding(TextEditor())
        case .leave: panel.step = .leaving
        case .removeMembers:
            guard let member else { return [] }
            panel.step = member.userId == user ? .leaving : .removing(member.userId)
        case .changeRoles:
            guard let member else { return [] }
            let role = key == Self.adminKey ? MemberRole.admin : .owner
            return [.put(member.userId, member.role == role ? .member : role)]
        case .changePermissions: panel.step = .permissions(0)
        case .changeLifetime:
            guard let conversation = talk.flatMap({ entry(of: $0.id) })?.conversation else { return [] }
            let lifetime = conversation.messageLifetime
            let start = lifetime?.isFromSending ?? true ? LifetimeStart.sending : .reading
            guard key == Self.startKey else {
                let seconds = LifetimeChoice.next(after: lifetime?.seconds)
                return [.setLifetime(seconds, from: seconds == nil ? .sending : start)]
            }
            guard let lifetime else { return [] }
            return [.setLifetime(lifetime.seconds, from: start == .sending ? .reading : .sending)]
        case .liftBans:
            panel.step = .bans(nil, 0)
            focus = .details(panel)
            return [.loadBans]
        case .decideRequests:
            panel.step = .joinRequests(nil, 0)
            focus = .details(panel)
            return [.loadJoinRequests]
        case .removeFromList:
            talk = nil
            focus = .list
            return [.removeFromList]
        }
        focus = .details(panel)
        return []
    }

    /// From one group of people to the next: members, admins, owners.
    private func permit(
        _ key: Key, _ index: Int, _ conversation: Conversation, _ panel: inout DetailsPanel
    ) -> [ChatEffect] {
        let all = GroupPermission.allCases
        switch key {
        case .up, .text("k"): panel.step = .permissions(max(0, index - 1))
        case .down, .text("j"): panel.step = .permissions(min(all.count - 1, index + 1))
        case .enter, .text(" "):
            let next: PermittedRoles =
                switch conversation.permittedRoles(all[index]) {
                case .known(.members): .admins
                case .known(.admins): .owners
                case .known(.owners), .unknown: .members
                }
            return [.permit(all[index], next)]
        default: break
        }
        return []
    }

    private mutating func lift(_ key: Key, _ bans: [Ban], _ index: Int, _ panel: inout DetailsPanel) -> [ChatEffect] {
        switch key {
        case .up, .text("k"): panel.step = .bans(bans, max(0, index - 1))
        case .down, .text("j"): panel.step = .bans(bans, max(0, min(bans.count - 1, index + 1)))
        case .enter, .text(" "):
            guard bans.indices.contains(index) else { break }
            var left = bans
            let user = left.remove(at: index).userId
            panel.step = .bans(left, max(0, min(left.count - 1, index)))
            notice = "\(called(user)) may be added again by whoever may add members."
            return [.liftBan(user)]
        default: break
        }
        return []
    }

    private mutating func decide(
        _ key: Key, _ requests: [JoinRequest], _ index: Int, _ panel: inout DetailsPanel
    ) -> [ChatEffect] {
        switch key {
        case .up, .text("k"): panel.step = .joinRequests(requests, max(0, index - 1))
        case .down, .text("j"): panel.step = .joinRequests(requests, max(0, min(requests.count - 1, index + 1)))
        case .enter, .text("x"):
            guard requests.indices.contains(index) else { break }
            var left = requests
            let user = left.remove(at: index).userId
            panel.step = .joinRequests(left, max(0, min(left.count - 1, index)))
            return key == .enter ? [.put(user, nil)] : [.declineJoinRequest(user)]
        default: break
        }
        return []
    }

    private mutating func invite(
        _ key: Key, _ step: InvitationsStep, _ conversation: Conversation, _ panel: inout DetailsPanel
    ) -> [ChatEffect] {
        var step = step
        let count = step.invitations?.count ?? 0
        defer { panel.step = .invitations(step) }
        switch key {
        case .up, .text("k"): step.index = max(0, step.index - 1)
        case .down, .text("j"): step.index = max(0, min(count - 1, step.index + 1))
        case .text("n"): return [.invite(approval: false)]
        case .text("a"):
            guard GroupActions(conversation).refusal(of: .decideRequests) == nil else {
                notice = "Only admins of the group can do that."
                break
            }
            return [.invite(approval: true)]
        case .text("x"):
            guard let invitations = step.invitations, invitations.indices.contains(step.index) else { break }
            step.code = nil
            return [.revoke(invitations[step.index].id)]
        default: break
        }
        return []
    }

    private mutating func rename(
        _ conversation: Conversation, _ text: String, _ panel: inout DetailsPanel
    ) -> [ChatEffect] {
        do throws(WritingProblem) {
            let title = try WrittenText.title(text)
            if title.isEmpty { throw WritingProblem("A title cannot be taken away, only changed.") }
            panel.step = .looking
            return title == conversation.title ?? "" ? [] : [.rename(title)]
        } catch {
            notice = error.text
            return []
        }
    }

    private mutating func add(_ text: String, _ panel: inout DetailsPanel) -> [ChatEffect] {
        do throws(WritingProblem) {
            let users = try WrittenText.users(text)
            let known = Set(talk?.members.map(\.userId) ?? [])
            if let member = users.first(where: known.contains) {
                throw WritingProblem("\(member.name) is a member already.")
            }
            panel.step = .looking
            return users.map { .put($0, nil) }
        } catch {
            notice = error.text
            return []
        }
    }

    /// As in the user's settings, then on, then off.
    private mutating func changeReadReceipts(_ panel: DetailsPanel) -> [ChatEffect] {
        guard let settings = panel.settings else {
            notice = "The settings are not known yet."
            return []
        }
        return [.setReadReceiptsHere(settings.isInherited ? true : settings.readReceipts ? false : nil)]
    }

    private func member(_ offset: Int, from panel: DetailsPanel) -> UserID? {
        guard let members = talk?.members, !members.isEmpty else { return nil }
        let index = members.firstIndex { $0.userId == panel.marked } ?? 0
        return members[max(0, min(members.count - 1, index + offset))].userId
    }

    func keys(of panel: DetailsPanel) -> String {
        switch panel.step {
        case .looking:
            let actions = talk.flatMap { entry(of: $0.id) }.map { GroupActions($0.conversation).allowed } ?? []
            let possible = Self.groupKeys.filter { actions.contains($0.action) }.map { "\($0.key) \($0.text)" }
            return (possible + ["b block", "\(Self.reportKey) report", "r receipts", "Esc back"]).joined(
                separator: "  ")
        case .title: return "Enter renames the group  Esc back"
        case .adding: return "Enter adds  Esc back"
        case .removing, .leaving: return "y yes  Esc no"
        case .permissions: return "↑ ↓ choose  Enter changes  Esc back"
        case .bans: return "↑ ↓ choose  Enter allows back  Esc back"
        case .invitations: return "n new, good for a week  a one by which they ask  ↑ ↓ choose  x ends one  Esc back"
        case .joinRequests: return "↑ ↓ choose  Enter lets in  x declines  Esc back"
        }
    }

    // The head, the title and the settings are above the members.
    private static let titleRow = 2
    private static let stepRow = 5

    private var membersHeight: Int { max(1, bodyHeight - Self.stepRow - 1) }

    func lines(of panel: DetailsPanel) -> [Line] {
        guard let talk, let entry = entry(of: talk.id) else { return [] }
        let count = max(entry.conversation.memberCount, talk.members.count)
        let head = Line.between(
            Line(" " + name(of: entry), .bar), Line("\(count) members ", .bar), width: talkWidth, filling: .bar)
        var lines = [head, Line(), titleLine(entry.conversation, panel), settingsLine(panel.settings)]
        lines.append(permissionLine(entry.conversation))
        lines.append(stepLine(panel))
        switch panel.step {
        case .permissions(let index): return lines + permissionLines(entry.conversation, index)
        case .bans(let bans, let index): return lines + banLines(bans, index)
        case .invitations(let step): return lines + invitationLines(step)
        case .joinRequests(let requests, let index): return lines + joinRequestLines(requests, index)
        default: break
        }
        let marked = talk.members.firstIndex { $0.userId == panel.marked } ?? 0
        let start = marked / membersHeight * membersHeight
        for (index, member) in talk.members.enumerated().dropFirst(start).prefix(membersHeight) {
            lines.append(line(of: member, isMarked: index == marked))
        }
        return lines
    }

    private func titleLine(_ conversation: Conversation, _ panel: DetailsPanel) -> Line {
        if case .title(let editor) = panel.step { return fieldLine("Title", editor, isActive: true) }
        guard conversation.kind == .group else { return Line(" Direct conversation", .dim) }
        let title = HarmlessText.line(conversation.title ?? "")
        return fieldLine("Title", TextEditor(title.isEmpty ? "none" : title), isActive: false)
    }

    private func settingsLine(_ settings: SettingsInConversation?) -> Line {
        guard let settings else { return Line(" Read receipts: not known yet", .dim) }
        let origin = settings.isInherited ? "as in your settings" : "in this conversation"
        var line = Line(" Read receipts: ", .dim)
        line.append("\(settings.readReceipts ? "on" : "off"), \(origin)")
        return line
    }

    private func stepLine(_ panel: DetailsPanel) -> Line {
        switch panel.step {
        case .looking, .title: Line(" Members", .bold)
        case .adding(let editor): fieldLine("Add", editor, isActive: true)
        case .removing(let user): Line(" Remove \(called(user)) from the group?  y yes  Esc no", .warning)
        case .leaving: Line(" Leave the group?  y yes  Esc no", .warning)
        case .permissions: Line(" Who may do what", .bold)
        case .bans: Line(" Removed: only owners and admins bring them back", .bold)
        case .invitations: Line(" Invitations: whoever has the link of one may join", .bold)
        case .joinRequests: Line(" Who asks to join. Whoever is declined is not told", .bold)
        }
    }

    /// What is not as in most groups, and how long messages stay.
    private func permissionLine(_ conversation: Conversation) -> Line {
        let restricted = GroupPermission.allCases.filter { conversation.permittedRoles($0) != Permissions()[$0] }
        var parts = restricted.map { "\($0.title.lowercased()): \(conversation.permittedRoles($0).name)" }
        if let lifetime = conversation.messageLifetime {
            parts.append(LifetimeChoice.sentence(lifetime))
        }
        guard !parts.isEmpty else { return Line() }
        return Line(" " + HarmlessText.line(parts.joined(separator: " · ")), .dim)
    }

    private func permissionLines(_ conversation: Conversation, _ index: Int) -> [Line] {
        GroupPermission.allCases.enumerated().map { number, permission in
            var line = Line(number == index ? "▌" : " ", .own)
            line.append(permission.title, number == index ? .bold : .plain)
            line.pad(to: 16)
            line.append(HarmlessText.line(conversation.permittedRoles(permission).name))
            return line
        }
    }

    /// Page by page.
    private func banLines(_ bans: [Ban]?, _ index: Int) -> [Line] {
        guard let bans else { return [Line(" Loading…", .dim)] }
        if bans.isEmpty { return [Line(" Nobody.", .dim)] }
        let start = index / membersHeight * membersHeight
        return bans.enumerated().dropFirst(start).prefix(membersHeight).map { number, ban in
            var left = Line(number == index ? "▌" : " ", .own)
            left.append(called(ban.userId), number == index ? .bold : .plain)
            if called(ban.userId) != ban.userId.name { left.append("  " + ban.userId.name, .dim) }
            let right = Line("by \(called(ban.actorId)), \(maker.times.brief(ban.at, now: now)) ", .dim)
            return Line.between(left, right, width: talkWidth)
        }
    }

    /// Page by page.
    private func joinRequestLines(_ requests: [JoinRequest]?, _ index: Int) -> [Line] {
        guard let requests else { return [Line(" Loading…", .dim)] }
        if requests.isEmpty { return [Line(" Nobody.", .dim)] }
        let start = index / membersHeight * membersHeight
        return requests.enumerated().dropFirst(start).prefix(membersHeight).map { number, request in
            var left = Line(number == index ? "▌" : " ", .own)
            left.append(called(request.userId), number == index ? .bold : .plain)
            if called(request.userId) != request.userId.name { left.append("  " + request.userId.name, .dim) }
            let inviter = request.inviterId.map { "by the link of \(called($0)), " } ?? ""
            let right = Line("\(inviter)\(maker.times.brief(request.requestedAt, now: now)) ", .dim)
            return Line.between(left, right, width: talkWidth)
        }
    }

    private func invitationLines(_ step: InvitationsStep) -> [Line] {
        let code = step.code.map { code in
            [
                Line(" The link of the new one, which is shown this once:", .dim),
                Line(" " + InvitationLink.text(code), .good), Line(),
            ]
        }
        return (code ?? []) + invitationRows(step, height: max(1, membersHeight - (code?.count ?? 0)))
    }

    private func invitationRows(_ step: InvitationsStep, height: Int) -> [Line] {
        guard let invitations = step.invitations else { return [Line(" Loading…", .dim)] }
        if invitations.isEmpty { return [Line(" None. n makes one.", .dim)] }
        let start = step.index / height * height
        return invitations.enumerated().dropFirst(start).prefix(height).map { number, invitation in
            var left = Line(number == step.index ? "▌" : " ", .own)
            left.append("by \(called(invitation.creatorId))", number == step.index ? .bold : .plain)
            let came = invitation.approval == true ? "asked" : "joined"
            let uses = invitation.maxUses.map { "\(invitation.uses) of \($0) \(came)" } ?? "\(invitation.uses) \(came)"
            let end = invitation.expiresAt.map { "until \(maker.times.dayName($0, now: now))" }
            let right = [uses, end].compactMap(\.self).joined(separator: " · ")
            return Line.between(left, Line(right + " ", .dim), width: talkWidth)
        }
    }

    private func line(of member: Membership, isMarked: Bool) -> Line {
        var left = Line(isMarked ? "▌" : " ", .own)
        left.append(called(member.userId), isMarked ? .bold : .plain)
        // Names are chosen by those who bear them, ids are not.
        if called(member.userId) != member.userId.name { left.append("  " + member.userId.name, .dim) }
        let isOnline = connection == .online && online.contains(member.userId)
        let remarks = [
            member.userId == user ? "you" : nil, member.role == .member ? nil : member.role.name,
            isOnline ? "● online" : nil,
            blocked.contains(member.userId) ? "⊘ blocked" : nil,
        ]
        let right = Line(remarks.compactMap(\.self).joined(separator: " · ") + " ", .dim)
        return Line.between(left, right, width: talkWidth)
    }

    func cursor(in panel: DetailsPanel, left: Int) -> Frame.Position? {
        switch panel.step {
        case .title(let editor): field(editor, row: Self.titleRow, left: left)
        case .adding(let editor): field(editor, row: Self.stepRow, left: left)
        case .looking, .removing, .leaving, .permissions, .bans, .invitations, .joinRequests: nil
        }
    }

    // MARK: Joining

    mutating func press(_ key: Key, in panel: JoiningPanel) -> [ChatEffect] {
        switch key {
        case .enter, .text("y"):
            leavePanel()
            return [.join(panel.code)]
        case .escape, .text("n"): leavePanel()
        default: break
        }
        return []
    }

    func lines(of panel: JoiningPanel) -> [Line] {
        let title = panel.preview.title.map { HarmlessText.line($0) } ?? "A group"
        let count = panel.preview.memberCount
        return [
            Line(" An invitation", .bar).fitted(to: talkWidth, filling: .bar), Line(), Line(" " + title, .bold),
            Line(" \(count) \(count == 1 ? "member" : "members")", .dim), Line(),
            Line(panel.preview.approval == true ? " Ask to join?  y yes  Esc no" : " Join?  y yes  Esc no"),
        ]
    }

    // MARK: Settings

    mutating func press(_ key: Key, in panel: SettingsPanel) -> [ChatEffect] {
        var panel = panel
        if panel.name != nil { return write(key, &panel) }
        if let step = panel.devices { return press(key, in: step, of: panel) }
        switch key {
        case .text("v"):
            panel.devices = DevicesStep()
            focus = .settings(panel)
            return [.loadDevices]
        case .text("e"): panel.name = TextEditor(names.name(of: user).map { HarmlessText.line($0) } ?? "")
        case .escape, .tab:
            leavePanel()
            return []
        case .up, .text("k"): panel.index = max(0, panel.index - 1)
        case .down, .text("j"): panel.index = min(SettingsPanel.choices + blocked.count - 1, panel.index + 1)
        case .enter, .text(" "):
            let number = panel.index - SettingsPanel.choices
            if number >= 0 { return blocked.indices.contains(number) ? toggleBlock(of: blocked[number]) : [] }
            guard let settings else { break }
            return panel.index == 0
                ? [.set(readReceipts: !settings.readReceipts, presence: nil)]
                : [.set(readReceipts: nil, presence: !settings.presence)]
        default: break
        }
        focus = .settings(panel)
        return []
    }

    private mutating func press(_ key: Key, in step: DevicesStep, of panel: SettingsPanel) -> [ChatEffect] {
        var (step, panel) = (step, panel)
        var effects: [ChatEffect] = []
        switch key {
        case .text("y") where step.endsOthers:
            step = DevicesStep()
            effects = [.endOtherDevices]
        case _ where step.endsOthers: step.endsOthers = false
        case .escape, .tab:
            panel.devices = nil
            focus = .settings(panel)
            return []
        case .up, .text("k"): step.index = max(0, step.index - 1)
        case .down, .text("j"): step.index = max(0, min((step.devices?.count ?? 0) - 1, step.index + 1))
        case .text("o"): step.endsOthers = step.devices != nil
        case .text("x"):
            guard let devices = step.devices, devices.indices.contains(step.index) else { break }
            effects = [.endDevice(devices[step.index].deviceId)]
            step.devices = nil
        default: break
        }
        panel.devices = step
        focus = .settings(panel)
        return effects
    }

    /// The user's own name is being written.
    private mutating func write(_ key: Key, _ panel: inout SettingsPanel) -> [ChatEffect] {
        var effects: [ChatEffect] = []
        switch key {
        case .escape: panel.name = nil
        case .enter:
            let name = panel.name.map { HarmlessText.line($0.text) } ?? ""
            if name != names.name(of: user) ?? "" { effects = [.setName(name.isEmpty ? nil : name)] }
            panel.name = nil
        default: _ = panel.name?.edit(key)
        }
        focus = .settings(panel)
        return effects
    }

    func keys(of panel: SettingsPanel) -> String {
        if let step = panel.devices {
            return step.endsOthers ? "y yes  Esc no" : "↑ ↓ choose  x ends one  o ends all others  Esc back"
        }
        return panel.name == nil
            ? "↑ ↓ choose  Enter changes  e your name  v devices  Esc back" : "Enter sets your name  Esc back"
    }

    private static let nameRow = 2

    private func nameLine(_ panel: SettingsPanel) -> Line {
        if let editor = panel.name { return fieldLine("Name", editor, isActive: true) }
        return fieldLine("Name", TextEditor(names.name(of: user) == nil ? "none" : called(user)), isActive: false)
    }

    func cursor(in panel: SettingsPanel, left: Int) -> Frame.Position? {
        panel.name.map { field($0, row: Self.nameRow, left: left) }
    }

    func lines(of panel: SettingsPanel) -> [Line] {
        let head = Line(" Settings of \(user.name)", .bar).fitted(to: talkWidth, filling: .bar)
        if let step = panel.devices { return [head, Line()] + deviceLines(step) }
        guard let settings else {
            return [head, Line(), nameLine(panel), Line(" They are not known before the server is heard.", .dim)]
        }
        let rows: [(name: String, isOn: Bool, meaning: String)] = [
            ("Read receipts", settings.readReceipts, "Others see how far you have read."),
            ("Presence", settings.presence, "Others see when you are online, and you see it of them."),
        ]
        let choices =
            [head, Line(), nameLine(panel), Line()]
            + rows.enumerated().flatMap { index, row in
                let isMarked = index == panel.index
                var line = Line(isMarked ? "▌" : " ", .own)
                line.append(row.name, isMarked ? .bold : .plain)
                line.pad(to: 16)
                line.append(row.isOn ? "on" : "off", row.isOn ? .good : .dim)
                return [line] + wrapped(row.meaning, width: talkWidth - 4).map { Line("   " + $0, .dim) } + [Line()]
            }
        return choices + blockedLines(panel, height: max(2, bodyHeight - choices.count))
    }

    private func deviceLines(_ step: DevicesStep) -> [Line] {
        let title =
            step.endsOthers
            ? Line(" End all devices but this one?  y yes  Esc no", .warning)
            : Line(" Devices: one that is ended has to sign in again", .bold)
        guard let devices = step.devices else { return [title, Line(" Loading…", .dim)] }
        if devices.isEmpty { return [title, Line(" None that has a name (dev in its token).", .dim)] }
        let height = max(1, bodyHeight - 3)
        let start = step.index / height * height
        return [title]
            + devices.enumerated().dropFirst(start).prefix(height).map { number, device in
                var left = Line(number == step.index ? "▌" : " ", .own)
                left.append(HarmlessText.line(device.deviceId), number == step.index ? .bold : .plain)
                let seen = device.current ? "this device" : "seen \(maker.times.brief(device.lastSeen, now: now))"
                return Line.between(left, Line(seen + " ", .dim), width: talkWidth)
            }
    }

    /// Whom the user has blocked, page by page.
    private func blockedLines(_ panel: SettingsPanel, height: Int) -> [Line] {
        let head = Line(blocked.isEmpty ? " Nobody is blocked." : " Blocked: Enter ends it", .dim)
        let number = panel.index - SettingsPanel.choices
        let start = max(0, number) / (height - 1) * (height - 1)
        let users = blocked.enumerated().dropFirst(start).prefix(height - 1)
        return [head]
            + users.map { index, user in
                var line = Line(index == number ? "▌" : " ", .own)
                line.append(called(user), index == number ? .bold : .plain)
                if called(user) != user.name { line.append("  " + user.name, .dim) }
                return line
            }
    }

    // MARK: What a message said before

    func hasRevisions(_ row: TimelineRow) -> Bool {
        row.state == .stored && row.message.editedAt != nil && !row.message.deletedForEveryone
    }

    mutating func openRevisions() -> [ChatEffect] {
        guard let row = talk?.selectedRow else { return [] }
        guard hasRevisions(row) else {
            notice = "It was not edited."
            return []
        }
        focus = .revisions(RevisionsPanel(message: row.id))
        return [.watchRevisions(row.id)]
    }

    mutating func press(_ key: Key, in panel: RevisionsPanel) -> [ChatEffect] {
        var panel = panel
        let mostTop = max(0, revisionLines(panel).count - revisionsHeight)
        switch key {
        case .escape, .tab, .enter, .text("v"), .text("q"):
            leavePanel()
            return []
        case .up, .text("k"): panel.top -= 1
        case .down, .text("j"): panel.top += 1
        case .pageUp: panel.top -= revisionsHeight
        case .pageDown: panel.top += revisionsHeight
        case .home: panel.top = 0
        case .end: panel.top = mostTop
        default: break
        }
        panel.top = max(0, min(mostTop, panel.top))
        focus = .revisions(panel)
        return []
    }

    private var revisionsHeight: Int { max(1, bodyHeight - 1) }

    func lines(of panel: RevisionsPanel) -> [Line] {
        let lines = revisionLines(panel)
        // The terminal may have become larger.
        let top = max(0, min(panel.top, lines.count - revisionsHeight))
        return [Line(" What it said", .bar).fitted(to: talkWidth, filling: .bar)] + lines.dropFirst(top)
    }

    private func revisionLines(_ panel: RevisionsPanel) -> [Line] {
        guard !panel.revisions.isEmpty else {
            let row = talk?.rows.first { $0.id == panel.message }
            if row?.message.deletedForEveryone ?? true { return [Line(), Line(" The message was deleted.", .dim)] }
            return [Line(), Line(connection == .online ? " Loading…" : " It is loaded when the server is back.", .dim)]
        }
        return panel.revisions.enumerated().flatMap { index, revision in
            let time = "\(maker.times.dayName(revision.at, now: now)) \(maker.times.time(revision.at))"
            let isPresent = index == panel.revisions.count - 1
            return [Line(), Line(" " + time + (isPresent ? " · now" : ""), .dim)]
                + memory.wrapped(HarmlessText.lines(revision.text ?? Message.sealedTitle), width: talkWidth - 4).map {
                    Line("   " + $0, isPresent ? .plain : .dim)
                }
        }
    }
}

extension GroupPermission {
    fileprivate var title: String {
        switch self {
        case .addMembers: "Add people"
        case .rename: "Change title"
        case .write: "Write"
        case .mentionAll: "Mention all"
        }
    }
}

extension SettingsInConversation {
    fileprivate var isInherited: Bool { inherited.contains(.known(.readReceipts)) }
}
