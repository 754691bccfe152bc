import Models
import ParleyPresentation
import ParleyStorage
import Testing

@Suite struct MessageActionTests {
    @Test("everything can be done to a message of one's own, for 15 minutes")
    func own() {
        let row = TimelineRow(message: said(1, by: anna))
        let early = MessageActions(row, viewer: anna, now: at(15))
        #expect(early.allowed == [.reply, .forward, .edit, .copy, .tapback, .pin, .deleteForMe, .deleteForEveryone])
        #expect(early.editableUntil == at(15))
        let late = MessageActions(row, viewer: anna, now: Timestamp(milliseconds: at(15).milliseconds + 1))
        #expect(late.refusal(of: .edit) == .editWindowClosed(at(15)))
        #expect(late.editableUntil == nil)
        #expect(ActionRefusal.editWindowClosed(at(15)).text == "Messages can be edited for 15 minutes.")
    }

    @Test("another's message can be answered, not changed")
    func anothers() {
        let actions = MessageActions(TimelineRow(message: said(1, by: ben)), viewer: anna, now: at(0))
        #expect(actions.allowed == [.reply, .forward, .copy, .tapback, .pin, .deleteForMe, .report])
        #expect(actions.refusal(of: .edit) == .anotherSender)
        #expect(actions.refusal(of: .deleteForEveryone) == .anotherSender)
        #expect(actions.refusal(of: .retry) == .notFailed)
    }

    @Test("of a deleted message only the rest can be taken away, by anybody for themselves")
    func deleted() {
        var message = said(1, by: anna)
        message.deletedForEveryone = true
        message.text = nil
        let actions = MessageActions(TimelineRow(message: message), viewer: anna, now: at(0))
        #expect(actions.allowed == [.deleteForMe])
        for action in [.reply, .edit, .copy, .tapback, .pin, .deleteForEveryone] as [MessageAction] {
            #expect(actions.refusal(of: action) == .deleted)
        }
        #expect(actions.refusal(of: .report) == .ownMessage)
        #expect(MessageActions(TimelineRow(message: message), viewer: ben, now: at(0)).refusal(of: .report) == .deleted)
        #expect(message.isDeleted(for: ben) && message.isDeleted(for: anna))
    }

    @Test("what is pinned can be taken down, by whoever may write")
    func pinned() {
        var row = TimelineRow(message: said(1, by: anna))
        row.message.pinned = MessagePin(seq: 2, userId: anna, at: at(1))
        let actions = MessageActions(row, viewer: ben, now: at(2))
        #expect(actions.refusal(of: .unpin) == nil && actions.refusal(of: .pin) == .pinned(true))
        row.message.pinned = nil
        let reader = MessageActions(row, viewer: ben, writingRefusal: .mayNotWrite(.known(.admins)), now: at(2))
        #expect(
            reader.refusal(of: .pin) == .mayNotWrite(.known(.admins)) && reader.refusal(of: .unpin) == .pinned(false))
    }

    @Test("a message deleted for oneself is deleted for nobody else")
    func hidden() {
        let message = said(1)
        #expect(message.isDeleted(for: anna, hidden: [anna: [message.id]]))
        #expect(!message.isDeleted(for: ben, hidden: [anna: [message.id]]))
        #expect(!message.isDeleted(for: ben))
    }

    @Test("what is on its way can be edited at any time; it has no tapbacks yet")
    func sending() {
        let row = TimelineRow(message: said(1, by: anna), state: .sending)
        let actions = MessageActions(row, viewer: anna, now: at(500))
        #expect(actions.allowed == [.reply, .edit, .copy, .deleteForMe, .deleteForEveryone])
        #expect(actions.refusal(of: .tapback) == .notSent && actions.refusal(of: .pin) == .notSent)
        #expect(actions.editableUntil == nil)
    }

    @Test("what failed can be sent again, edited or given up, also by who was removed")
    func failure() {
        for isMember in [true, false] {
            let actions = MessageActions(failed(said(1, by: anna)), viewer: anna, isMember: isMember, now: at(500))
            #expect(actions.allowed == [.edit, .copy, .retry, .discard])
            #expect(actions.refusal(of: .reply) == .notSent)
        }
    }

    @Test("a former member reads, an event can only be read")
    func readers() {
        let former = MessageActions(TimelineRow(message: said(1, by: anna)), viewer: anna, isMember: false, now: at(0))
        #expect(former.allowed == [.forward, .copy])
        #expect(former.refusal(of: .reply) == .formerMember)
        let others = MessageActions(TimelineRow(message: said(1, by: ben)), viewer: anna, isMember: false, now: at(0))
        #expect(others.allowed == [.forward, .copy, .report])
        let event = happened(1, SystemEvent(kind: .memberAdded, userId: ben), by: anna)
        let actions = MessageActions(TimelineRow(message: event), viewer: anna, now: at(0))
        #expect(actions.allowed.isEmpty)
        #expect(MessageAction.allCases.allSatisfy { actions.refusal(of: $0) == .systemMessage })
    }

    @Test("editing is for the sender alone, for as long as the contract says")
    func editable() {
        let message = said(1, by: anna)
        #expect(message.isEditable(by: anna, at: at(15)))
        #expect(!message.isEditable(by: anna, at: at(16)))
        #expect(!message.isEditable(by: ben, at: at(0)))
    }
}
